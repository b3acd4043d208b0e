"""A store in memory that takes no request that the vendor's own SDK would not have signed so.

Aliyun OSS (V4), Tencent COS and Huawei OBS have no server that runs on one machine. Their SDKs sign requests, so this
server takes each request apart, lets the SDK sign it again with the same key and time, and compares.

    clouds.py PORT FOLDER

The first label of the host is the bucket; what it begins with says whose signature is expected: aliyun-, cos- or obs-.
The account `late-key` meets a store whose clock is an hour and a minute ahead; `temporary-key` needs the token `tester-token`. Whoever asks
without a bucket hears how many requests a bucket has seen (`/requests/BUCKET`), and how many uploads it waits for (`/uploads/BUCKET`).
"""
import base64
import datetime
import email.utils
import hashlib
import hmac
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

import obs.auth
import obs.convertor
import oss2
import oss2.http
import qcloud_cos.cos_auth as cos_auth

KEYS, SECRET, REGION, TOKEN = ("tester-key", "late-key", "temporary-key"), "tester-secret", "cn-hangzhou", "tester-token/+="
TOKEN_NAMES = {"aliyun": "x-oss-security-token", "cos": "x-cos-security-token", "obs": "x-obs-security-token"}
# By bucket and key: bytes, type, notes, time. Uploads by id: bucket, key, type, notes, parts.
objects, uploads, requests, lock = {}, {}, {}, threading.Lock()


class Refused(Exception):
    pass


def same(wanted, given):
    if not hmac.compare_digest(wanted, given):
        raise Refused("SignatureDoesNotMatch")


def ahead(key):
    return 3660 if key == "late-key" else 0


# ---- Aliyun

class Again:
    """A request as oss2 knows it."""

    region, product, cloudbox_id = REGION, "oss", None

    def __init__(self, request, headers, params):
        self.method, self.headers, self.params = request.command, headers, params


def check_aliyun(request, bucket, key, query):
    account = request.account
    auth, credentials = oss2.AuthV4(account, SECRET), oss2.credentials.StaticCredentialsProvider(account, SECRET).get_credentials()
    # Headers that are signed beside the usual ones, as the request itself says.
    more = [name for name in query.get("x-oss-additional-headers", "").split(";") if name]
    sign = lambda headers, params, stamp: auth._ProviderAuthV4__make_signature(
        Again(request, oss2.CaseInsensitiveDict(headers), params), bucket, key, more or None, credentials, stamp)
    now = datetime.datetime.utcnow() + datetime.timedelta(seconds=ahead(account))
    if "x-oss-signature" in query:
        stamp = query["x-oss-date"]
        age = (now - datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")).total_seconds()
        if age > int(query["x-oss-expires"]) or query["x-oss-credential"] != f"{account}/{stamp[:8]}/{REGION}/oss/aliyun_v4_request":
            raise Refused("AccessDenied")
        params = {name: value for name, value in query.items() if name != "x-oss-signature"}
        headers = {name: value for name, value in request.headers.items() if name.lower() in ["content-type", "content-md5"] + more}
        return same(sign(headers, params, stamp), query["x-oss-signature"])
    stamp = request.headers.get("x-oss-date", "")
    if not stamp:
        raise Refused("AccessDenied")
    if abs((now - datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")).total_seconds()) > 900:
        raise Refused("RequestTimeTooSkewed")
    wanted = f"OSS4-HMAC-SHA256 Credential={account}/{stamp[:8]}/{REGION}/oss/aliyun_v4_request, Signature="
    same(wanted + sign(dict(request.headers.items()), dict(query), stamp), request.headers.get("authorization", ""))


# ---- Tencent

class Clock(threading.local):
    now = 0

    def time(self):
        return self.now


cos_auth.time = Clock()


class Account:
    _secret_key, _anonymous, _sign_params, _sign_host = SECRET, False, True, False

    def __init__(self, key):
        self._secret_id = key


def check_cos(request, bucket, key, query):
    text = request.headers.get("authorization")
    given = dict(urllib.parse.parse_qsl(text, keep_blank_values=True)) if text else {name: value for name, value in query.items() if name.startswith("q-")}
    start, end = (int(part) for part in given["q-sign-time"].split(";"))
    now = time.time() + ahead(request.account)
    # Links end; a request that was signed just now and is over has been signed by another clock.
    if now > end:
        raise Refused("RequestTimeTooSkewed" if text else "AccessDenied")
    if now < start - 900:
        raise Refused("RequestTimeTooSkewed")
    # A request says which of its headers it has signed; all its parameters must be.
    names = given["q-header-list"].split(";")
    if any(name.lower().startswith("x-cos-") and name.lower() not in names for name in request.headers):
        raise Refused("SignatureDoesNotMatch")
    headers = {name: value for name, value in request.headers.items() if name.lower() in names}
    params = {name: value for name, value in query.items() if not name.startswith("q-")}
    cos_auth.time.now = start + 60
    again = type("Request", (), {"method": request.command, "headers": headers, "url": ""})()
    cos_auth.CosS3Auth(Account(request.account), key, params, expire=end - start - 60)(again)
    wanted = dict(urllib.parse.parse_qsl(again.headers["Authorization"], keep_blank_values=True))
    same(wanted["q-url-param-list"], given["q-url-param-list"])
    same(wanted["q-signature"], given["q-signature"])


# ---- Huawei

def check_obs(request, bucket, key, query):
    account = request.account
    auth = obs.auth.Authentication(account, SECRET, False, obs.convertor.Adapter("obs"), "", False)
    headers = {name: value for name, value in request.headers.items()}
    params = {name: (value if value else None) for name, value in query.items() if name not in ("Signature", "Expires", "AccessKeyId")}
    if "Signature" in query:
        if time.time() > int(query["Expires"]) or query["AccessKeyId"] != account:
            raise Refused("AccessDenied")
        signed = auth.getSignature(request.command, bucket, key, params, headers, query["Expires"])
        return same(signed["Signature"], query["Signature"])
    date = email.utils.parsedate_to_datetime(headers.get("Date", headers.get("date", "Thu, 01 Jan 1970 00:00:00 GMT")))
    if abs(date.timestamp() - time.time() - ahead(account)) > 900:
        raise Refused("RequestTimeTooSkewed")
    given = headers.get("Authorization", headers.get("authorization", ""))
    same(auth.doAuth(request.command, bucket, key, params, headers)["Authorization"], given)


CHECKS = {"aliyun": check_aliyun, "cos": check_cos, "obs": check_obs}


def account_of(request, query):
    text = request.headers.get("authorization", "")
    found = re.search(r"Credential=([^/]+)/|q-ak=([^&]+)|^OBS ([^:]+):", text)
    names = [name for name in found.groups() if name] if found else [
        query.get("x-oss-credential", "").split("/")[0], query.get("q-ak"), query.get("AccessKeyId")]
    key = next((name for name in names if name), "")
    if key not in KEYS:
        raise Refused("InvalidAccessKeyId")
    return key


def check_token(request, vendor, query):
    name = TOKEN_NAMES[vendor]
    given = request.headers.get(name) or query.get(name)
    if given != (TOKEN if request.account == "temporary-key" else None):
        raise Refused("InvalidSecurityToken")


# ---- what all stores do

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    account = ""

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(time.time() + ahead(self.account), usegmt=True)

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name == "Content-Length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def fail(self, status, code):
        self.answer(status, f"<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{SECRET}</Message></Error>".encode())

    def handle_all(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, text = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        bucket = self.headers.get("Host", "").split(".")[0]
        vendor = bucket.split("-")[0]
        if vendor not in CHECKS:
            return self.tell(path)
        with lock:
            requests[bucket] = requests.get(bucket, 0) + 1
        key = urllib.parse.unquote(path[1:])
        self.account = ""
        try:
            self.account = account_of(self, query)
            CHECKS[vendor](self, bucket, key, query)
            check_token(self, vendor, query)
        except Refused as refused:
            return self.fail(403, refused.args[0])
        except Exception as error:
            print(repr(error), self.command, self.path, dict(self.headers.items()), flush=True)
            return self.fail(403, "AccessDenied")
        self.note = {"aliyun": "x-oss-", "cos": "x-cos-", "obs": "x-obs-"}[vendor]
        with lock:
            getattr(self, "do_" + self.command.lower())(bucket, key, query, body)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = handle_all

    def tell(self, path):
        what, bucket = (path.strip("/").split("/") + [""])[:2]
        with lock:
            counts = {"requests": requests.get(bucket, 0), "uploads": sum(1 for upload in uploads.values() if upload[0] == bucket)}
        self.answer(200, str(counts.get(what, "ready")).encode())

    def notes(self):
        prefix = self.note + "meta-"
        return {name.lower()[len(prefix):]: value for name, value in self.headers.items() if name.lower().startswith(prefix)}

    def do_put(self, bucket, key, query, body):
        if "uploadId" in query:
            part = uploads.get(query["uploadId"])
            if part is None:
                return self.fail(404, "NoSuchUpload")
            part[4][int(query["partNumber"])] = body
            return self.answer(200, headers=[("ETag", etag(body))])
        forbids = self.headers.get(self.note + "forbid-overwrite") == "true" or self.headers.get("If-None-Match") == "*"
        if forbids and (bucket, key) in objects:
            return self.fail(409, "FileAlreadyExists")
        source = self.headers.get(self.note + "copy-source")
        if source:
            source = urllib.parse.unquote(source).lstrip("/")
            found = objects.get((bucket, source.split("/", 1)[1]))
            if found is None:
                return self.fail(404, "NoSuchKey")
            objects[bucket, key] = found[:3] + (time.time(),)
            return self.answer(200, f"<CopyObjectResult><ETag>{etag(found[0])}</ETag></CopyObjectResult>".encode())
        objects[bucket, key] = (body, self.headers.get("Content-Type", "application/octet-stream"), self.notes(), time.time())
        self.answer(200, headers=[("ETag", etag(body))])

    def do_post(self, bucket, key, query, body):
        if "uploads" in query:
            name = f"upload{len(uploads)}"
            uploads[name] = (bucket, key, self.headers.get("Content-Type", ""), self.notes(), {})
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>".encode())
        _, _, kind, notes, parts = uploads.pop(query["uploadId"])
        whole = b"".join(parts[number] for number in sorted(parts))
        objects[bucket, key] = (whole, kind, notes, time.time())
        self.answer(200, f"<CompleteMultipartUploadResult><ETag>{etag(whole)}</ETag></CompleteMultipartUploadResult>".encode())

    def do_head(self, bucket, key, query, body):
        self.do_get(bucket, key, query, body)

    def do_get(self, bucket, key, query, body):
        if not key:
            return self.list(bucket, query)
        found = objects.get((bucket, key))
        if found is None:
            return self.fail(404, "NoSuchKey")
        content, kind, notes, at = found
        headers = [("Content-Type", kind), ("ETag", etag(content)), ("Last-Modified", email.utils.formatdate(at, usegmt=True))]
        if query.get("response-content-type"):
            headers[0] = ("Content-Type", query["response-content-type"])
        if query.get("response-content-disposition"):
            headers.append(("Content-Disposition", query["response-content-disposition"]))
        headers += [(self.note + "meta-" + name, value) for name, value in notes.items()]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted:
            first, last = int(wanted[1]), min(int(wanted[2] or len(content) - 1), len(content) - 1)
            if first >= len(content):
                return self.fail(416, "InvalidRange")
            headers.append(("Content-Range", f"bytes {first}-{last}/{len(content)}"))
            return self.answer(206, content[first:last + 1], headers + [("Content-Length", str(last + 1 - first))])
        self.answer(200, content, headers + [("Content-Length", str(len(content)))])

    def do_delete(self, bucket, key, query, body):
        if "uploadId" in query:
            uploads.pop(query["uploadId"], None)
        else:
            objects.pop((bucket, key), None)
        self.answer(204)

    def list(self, bucket, query):
        if "uploads" in query:
            pending = "".join(f"<Upload><UploadId>{name}</UploadId></Upload>" for name, upload in uploads.items() if upload[0] == bucket)
            return self.answer(200, f"<ListMultipartUploadsResult>{pending}</ListMultipartUploadsResult>".encode())
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after") or query.get("marker") or ""
        most, quote = int(query.get("max-keys") or 1000), urllib.parse.quote if query.get("encoding-type") == "url" else escape
        keys, groups, last, more = [], [], "", False
        for name in sorted(key for owner, key in objects if owner == bucket):
            if not name.startswith(prefix) or name <= after or after.endswith("/") and delimiter and name.startswith(after):
                continue
            at = name.find(delimiter, len(prefix)) if delimiter else -1
            group = name[:at + 1] if at >= 0 else None
            if group and group in groups:
                continue
            if len(keys) + len(groups) >= most:
                more = True
                break
            (groups if group else keys).append(group or name)
            last = group or name
        items = "".join(
            f"<Contents><Key>{quote(name)}</Key><Size>{len(objects[bucket, name][0])}</Size><ETag>{escape(etag(objects[bucket, name][0]))}</ETag>"
            f"<LastModified>{datetime.datetime.utcfromtimestamp(objects[bucket, name][3]).strftime('%Y-%m-%dT%H:%M:%S.000Z')}</LastModified></Contents>"
            for name in keys)
        items += "".join(f"<CommonPrefixes><Prefix>{quote(name)}</Prefix></CommonPrefixes>" for name in groups)
        token = f"<NextContinuationToken>{quote(last)}</NextContinuationToken><NextMarker>{quote(last)}</NextMarker>" if more else ""
        self.answer(200, f"<ListBucketResult><Name>{bucket}</Name><Prefix>{quote(prefix)}</Prefix><IsTruncated>{str(more).lower()}</IsTruncated>{token}{items}</ListBucketResult>".encode())


def etag(content):
    return f'"{hashlib.md5(content).hexdigest()}"'


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
