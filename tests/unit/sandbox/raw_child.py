"""The shipped process without its Python-level guards: full built-ins, and what an attacker would like is loaded already."""

import builtins
import ctypes
import encodings.idna
import importlib.util
import mmap
import multiprocessing
import os
import pathlib
import pickle
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading

LOADED = (
    ctypes,
    encodings.idna,
    mmap,
    multiprocessing,
    os,
    pathlib,
    pickle,
    resource,
    signal,
    socket,
    subprocess,
    tempfile,
    threading,
)

spec = importlib.util.spec_from_file_location("child", sys.argv[1])
child = sys.modules["child"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
child.program_builtins = lambda: dict(vars(builtins))
child.main(sys.argv[2:])
