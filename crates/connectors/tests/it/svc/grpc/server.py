"""The services of loyalty.proto on gRPC's own Python library, with reflection (which there is v1alpha only) and health.

Usage: server.py FOLDER; compiles the .proto files into FOLDER, and writes its port into FOLDER/port.
"""
import os
import sys
import time
from concurrent import futures

import grpc
import grpc_tools
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from grpc_tools import protoc
from google.protobuf import wrappers_pb2

here = os.path.dirname(os.path.abspath(__file__))
folder = sys.argv[1]
known = os.path.join(os.path.dirname(grpc_tools.__file__), "_proto")
arguments = ["protoc", f"-I{here}", f"-I{known}", f"--python_out={folder}", f"--grpc_python_out={folder}"]
if protoc.main([*arguments, "everything.proto", "loyalty.proto"]) != 0:
    sys.exit("the .proto files cannot be compiled")
sys.path.insert(0, folder)
import loyalty_pb2  # noqa: E402
import loyalty_pb2_grpc  # noqa: E402

CUSTOMERS = [
    loyalty_pb2.Customer(id=1, display_name="Ada", tier="TIER_GOLD"),
    loyalty_pb2.Customer(id=9007199254740993, display_name="Zoë", tier="TIER_SILVER"),
]
# The counts that streams were asked for which nobody waits for any more.
LEFT = []
CODES = {code.value[0]: code for code in grpc.StatusCode}


class Customers(loyalty_pb2_grpc.CustomersServicer):
    def List(self, request, context):
        most = request.page_size or len(CUSTOMERS)
        return loyalty_pb2.ListResponse(customers=CUSTOMERS[:most])

    def Get(self, request, context):
        for customer in CUSTOMERS:
            if customer.id == request.id:
                return customer
        context.abort(grpc.StatusCode.NOT_FOUND, f"there is no customer {request.id}")

    def Create(self, request, context):
        return request

    def Watch(self, request, context):
        done = []
        context.add_callback(lambda: done or LEFT.append(request.count))
        for number in range(request.count):
            if not context.is_active():
                return
            yield loyalty_pb2.Event(number=number + 1, customer=CUSTOMERS[0])
            time.sleep(request.pause_ms / 1000)
        done.append(True)
        if request.fail:
            context.abort(grpc.StatusCode.INTERNAL, "it broke")

    def Echo(self, request, context):
        return request

    def Fail(self, request, context):
        context.abort(CODES[request.code], request.message)

    def Metadata(self, request, context):
        told = {}
        for key, value in context.invocation_metadata():
            told[key] = value.hex() if isinstance(value, bytes) else value
        told["left"] = " ".join(map(str, LEFT))
        return loyalty_pb2.MetadataResponse(metadata=told, left_ms=int(context.time_remaining() * 1000))

    def Upper(self, request, context):
        return wrappers_pb2.StringValue(value=request.value.upper())


server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
loyalty_pb2_grpc.add_CustomersServicer_to_server(Customers(), server)
checks = health.HealthServicer()
checks.set("", health_pb2.HealthCheckResponse.SERVING)
health_pb2_grpc.add_HealthServicer_to_server(checks, server)
names = ["loyalty.v1.Customers", health.SERVICE_NAME, reflection.SERVICE_NAME]
reflection.enable_server_reflection(names, server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
with open(os.path.join(folder, "port.new"), "w") as file:
    file.write(str(port))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.wait_for_termination()
