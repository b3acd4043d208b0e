"""A gateway that takes no request that the vendor's own SDK would not have signed so.

Aliyun, Tencent, Huawei and Twilio have no server that runs on one machine. Their SDKs sign requests, so this server takes
each request apart, lets the SDK sign it again with the same key, time and nonce, and compares.

    sms.py FOLDER

It writes its port to FOLDER/port. Whose request it is shows in its headers. `GET /sent` tells what was taken. Numbers that end with 0000 are
not taken; where one ends with 9999, requests come too often, and messages to those with 9009 do. The account `late-key` meets a gateway whose clock is an hour ahead.
"""
import base64
import datetime
import email.utils
import hashlib
import hmac
import json
import logging
import os
import sys
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from alibabacloud_tea_openapi.utils import Utils as AliyunUtils
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.sdk_request import SdkRequest
from huaweicloudsdkcore.signer.signer import Signer
from tencentcloud.common import credential
from tencentcloud.common.http.request import RequestInternal
from tencentcloud.common.profile.client_profile import ClientProfile
from tencentcloud.common.profile.http_profile import HttpProfile
from tencentcloud.sms.v20210111 import sms_client
from twilio.http import HttpClient
from twilio.http.response import Response
from twilio.rest import Client as TwilioClient

SECRETS = {"tester-key": "tester-secret", "late-key": "tester-secret"}
sent, lock = [], threading.Lock()


class Refused(Exception):
    pass


def same(wanted, given):
    if not hmac.compare_digest(wanted.encode(), given.encode()):
        raise Refused(f"signed otherwise: {wanted} is not {given}")


def is_late(age, key):
    return abs(age + (3600 if key == "late-key" else 0)) > 900


def keep(vendor, number, **more):
    with lock:
        sent.append({"vendor": vendor, "to": number, **more})


# ---- Aliyun

def aliyun(request, body):
    text = request.headers["authorization"]
    fields = dict(part.split("=", 1) for part in text.split(" ", 1)[1].split(","))
    key = fields["Credential"]
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.path).query, keep_blank_values=True))
    if key not in SECRETS:
        return 404, {"Code": "InvalidAccessKeyId.NotFound", "Message": "Specified access key is not found."}
    names = fields["SignedHeaders"].split(";")
    if not {"host", "x-acs-action", "x-acs-version", "x-acs-date", "x-acs-signature-nonce", "x-acs-content-sha256"} <= set(names):
        raise Refused(f"too few headers are signed: {names}")
    again = type("Request", (), {"method": request.command, "pathname": "/", "query": query,
                                 "headers": {name: request.headers[name] for name in names}})
    payload = hashlib.sha256(body).hexdigest()
    same(payload, request.headers["x-acs-content-sha256"])
    same(AliyunUtils.get_authorization(again, "ACS3-HMAC-SHA256", payload, key, SECRETS[key]), text)
    stamp = datetime.datetime.strptime(request.headers["x-acs-date"], "%Y-%m-%dT%H:%M:%SZ")
    if is_late((datetime.datetime.utcnow() - stamp).total_seconds(), key):
        return 400, {"Code": "InvalidTimeStamp.Expired", "Message": "Specified time stamp is expired."}
    if request.headers["x-acs-action"] != "SendSms" or request.headers["x-acs-version"] != "2017-05-25":
        raise Refused("that is no SendSms")
    numbers = query["PhoneNumbers"].split(",")
    if len(numbers) > 1000:
        return 200, {"Code": "isv.MOBILE_COUNT_OVER_LIMIT", "Message": "too many"}
    if any(number.endswith("0000") for number in numbers):
        return 200, {"Code": "isv.MOBILE_NUMBER_ILLEGAL", "Message": f"{numbers[0]}invalid mobile number"}
    if any(number.endswith("9999") for number in numbers):
        return 200, {"Code": "isv.BUSINESS_LIMIT_CONTROL", "Message": "触发分钟级流控Permits:1"}
    for number in numbers:
        keep("aliyun", number, sign=query["SignName"], template=query["TemplateCode"], params=json.loads(query.get("TemplateParam", "{}")))
    return 200, {"Code": "OK", "Message": "OK", "BizId": uuid.uuid4().hex, "RequestId": str(uuid.uuid4())}


# ---- Tencent

def tencent(request, body):
    text = request.headers["authorization"]
    fields = dict(part.strip().split("=", 1) for part in text.split(" ", 1)[1].split(","))
    key, date = fields["Credential"].split("/")[:2]
    if key not in SECRETS:
        return 200, {"Response": {"Error": {"Code": "AuthFailure.SecretIdNotFound", "Message": "no such key"}, "RequestId": "1"}}
    client = sms_client.SmsClient(credential.Credential(key, SECRETS[key]), "ap-guangzhou", ClientProfile(httpProfile=HttpProfile(endpoint=request.headers["host"])))
    again = RequestInternal(request.headers["host"], request.command, "/", data=body, header={
        "Content-Type": request.headers["content-type"], "Host": request.headers["host"], "X-TC-Timestamp": request.headers["x-tc-timestamp"]})
    signature = client._get_tc3_signature({}, again, date, "sms", SECRETS[key])
    same(f"TC3-HMAC-SHA256 Credential={key}/{date}/sms/tc3_request, SignedHeaders=content-type;host, Signature={signature}", text)
    if is_late(time.time() - int(request.headers["x-tc-timestamp"]), key):
        return 200, {"Response": {"Error": {"Code": "AuthFailure.SignatureExpire", "Message": "expired"}, "RequestId": "1"}}
    if request.headers["x-tc-action"] != "SendSms" or request.headers["x-tc-version"] != "2021-01-11":
        raise Refused("that is no SendSms")
    asked, told = json.loads(body), []
    if len(asked["PhoneNumberSet"]) > 200:
        return 200, {"Response": {"Error": {"Code": "LimitExceeded.PhoneNumberCountLimit", "Message": "too many"}, "RequestId": "1"}}
    if any(number.endswith("9999") for number in asked["PhoneNumberSet"]):
        return 200, {"Response": {"Error": {"Code": "RequestLimitExceeded", "Message": "too many requests"}, "RequestId": "1"}}
    for number in asked["PhoneNumberSet"]:
        status = {"SerialNo": "", "PhoneNumber": number, "Fee": 0, "SessionContext": "", "Code": "InvalidParameterValue.IncorrectPhoneNumber", "Message": "the number is wrong", "IsoCode": "CN"}
        if number.endswith("9009"):
            status.update(Code="LimitExceeded.PhoneNumberDailyLimit", Message="too many messages to one number today")
        elif not number.endswith("0000"):
            status.update(SerialNo=uuid.uuid4().hex, Code="Ok", Message="send success", Fee=1)
            keep("tencent", number, sign=asked["SignName"], app=asked["SmsSdkAppId"], template=asked["TemplateId"], params=asked["TemplateParamSet"])
        told.append(status)
    # In an order of its own.
    return 200, {"Response": {"SendStatusSet": told[::-1], "RequestId": "1"}}


# ---- Huawei

def huawei(request, body):
    text = request.headers["authorization"]
    fields = dict(part.strip().split("=", 1) for part in text.split(" ", 1)[1].split(","))
    key = fields["Access"]
    if key not in SECRETS:
        return 401, {"error_code": "APIG.0301", "error_msg": "Incorrect IAM authentication information"}
    again = SdkRequest(method=request.command, schema="https", host=request.headers["host"], resource_path=request.path, query_params=[], header_params={
        "Content-Type": request.headers["content-type"], "Host": request.headers["host"], "X-Sdk-Date": request.headers["x-sdk-date"]}, body=body)
    signed = Signer(BasicCredentials(key, SECRETS[key])).sign(again)
    same("UNSIGNED-PAYLOAD", request.headers["x-sdk-content-sha256"])
    same(signed.header_params["Authorization"], text)
    stamp = datetime.datetime.strptime(request.headers["x-sdk-date"], "%Y%m%dT%H%M%SZ")
    if is_late((datetime.datetime.utcnow() - stamp).total_seconds(), key):
        return 401, {"error_code": "APIG.0301", "error_msg": "Incorrect IAM authentication information: expired"}
    form = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
    numbers, told = form["to"].split(","), []
    if any(number.endswith("9999") for number in numbers):
        return 429, {"error_code": "APIG.0308", "error_msg": "The throttling threshold has been reached"}
    for number in numbers:
        status = {"0000": "E200041", "9009": "E200015"}.get(number[-4:], "000000")
        told.append({"originTo": number, "createTime": "2026-01-01T00:00:00Z", "from": form["from"], "smsMsgId": str(uuid.uuid4()), "status": status})
        if status == "000000":
            keep("huawei", number, sign=form.get("signature"), sender=form["from"], template=form["templateId"], params=json.loads(form.get("templateParas", "[]")))
    return 200, {"result": told, "code": "000000", "description": "Success"}


# ---- Twilio

class Recorder(HttpClient):
    """What the library would have sent."""

    def __init__(self):
        super().__init__(logging.getLogger("twilio"), False)

    def request(self, method, url, params=None, data=None, headers=None, auth=None, timeout=None, allow_redirects=False):
        self.seen = (method, url, dict(data or {}), "Basic " + base64.b64encode(":".join(auth).encode()).decode() if auth else headers["Authorization"])
        return Response(201, json.dumps({"sid": "SM1", "status": "queued"}))


def twilio(request, body):
    path = urllib.parse.urlsplit(request.path).path
    key = base64.b64decode(request.headers["authorization"].split()[1]).decode().split(":")[0]
    if key not in SECRETS:
        return 401, {"code": 20003, "message": "Authenticate", "status": 401}
    recorder = Recorder()
    client = TwilioClient(key, SECRETS[key], http_client=recorder)
    if request.command == "GET":
        same("Basic " + base64.b64encode(f"{key}:{SECRETS[key]}".encode()).decode(), request.headers["authorization"])
        return 200, {"sid": key, "status": "active"}
    form = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
    words = {"From": "from_", "MessagingServiceSid": "messaging_service_sid", "Body": "body", "ContentSid": "content_sid", "ContentVariables": "content_variables"}
    client.messages.create(to=form["To"], **{words[name]: value for name, value in form.items() if name in words})
    method, url, data, authorization = recorder.seen
    same(authorization, request.headers["authorization"])
    same(f"{method} {urllib.parse.urlsplit(url).path}", f"{request.command} {path}")
    if {name: value for name, value in data.items() if value is not None} != form:
        raise Refused(f"the library sends {data}")
    if form["To"].endswith("0000"):
        return 400, {"code": 21211, "message": f"The 'To' number {form['To']} is not a valid phone number.", "status": 400}
    if form["To"].endswith("9999"):
        return 429, {"code": 20429, "message": "Too Many Requests", "status": 429}
    keep("twilio", form["To"], content=form.get("Body"), template=form.get("ContentSid"), params=form.get("ContentVariables"))
    return 201, {"sid": "SM" + uuid.uuid4().hex, "status": "queued", "error_code": None}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            status, told = self.dispatch(body)
        except Refused as why:
            status, told = 403, {"Code": "SignatureDoesNotMatch", "Message": str(why), "code": 20003, "error_code": "APIG.0301",
                                 "Response": {"Error": {"Code": "AuthFailure.SignatureFailure", "Message": str(why)}}}
        text = json.dumps(told).encode()
        late = 3600 if "late-key" in self.headers.get("authorization", "") else 0
        self.send_response_only(status)
        self.send_header("Date", email.utils.formatdate(time.time() + late, usegmt=True))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_POST = do_HEAD = answer

    def dispatch(self, body):
        if self.command == "HEAD":
            return 405, {}
        if self.path == "/sent":
            with lock:
                return 200, list(sent)
        scheme = self.headers.get("authorization", "").split(" ")[0]
        vendors = {"ACS3-HMAC-SHA256": aliyun, "TC3-HMAC-SHA256": tencent, "SDK-HMAC-SHA256": huawei, "Basic": twilio}
        if scheme not in vendors:
            raise Refused(f"nobody signs with '{scheme}'")
        return vendors[scheme](self, body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1] + "/port.new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
server.serve_forever()
