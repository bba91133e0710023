"""Certificates for tests, made by the openssl tool: an authority, and leaves it has signed."""
import subprocess
from pathlib import Path


def openssl(*args, **options):
    done = subprocess.run(["openssl", *map(str, args)], capture_output=True, timeout=60, stdin=subprocess.DEVNULL, **options)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


KINDS = {"ecdsa": ("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), "rsa": ("rsa:2048",)}


class Pair:
    def __init__(self, folder, name):
        self.cert, self.key = Path(folder) / f"{name}.pem", Path(folder) / f"{name}.key"

    def config(self, **more):
        return {"cert": str(self.cert), "key": str(self.key), **more}

    def serial(self):
        return openssl("x509", "-in", self.cert, "-noout", "-serial").decode().strip().split("=")[1]

    def der(self):
        return openssl("x509", "-in", self.cert, "-outform", "DER")


class Authority:
    def __init__(self, folder, name="authority"):
        self.folder = Path(folder)
        self.pair = Pair(folder, name)
        self.cert = self.pair.cert
        openssl("req", "-x509", "-newkey", *KINDS["ecdsa"], "-nodes", "-days", 30, "-subj", f"/CN={name}", "-keyout",
                self.pair.key, "-out", self.pair.cert)

    def sign(self, file, *names, kind="ecdsa", days=30):
        """A pair for these names; a negative number of days has passed already."""
        pair = Pair(self.folder, file)
        request = self.folder / f"{file}.csr"
        alternatives = ",".join(("IP:" if name[0].isdigit() else "DNS:") + name for name in names)
        openssl("req", "-newkey", *KINDS[kind], "-nodes", "-subj", f"/CN={names[0]}", "-addext", f"subjectAltName={alternatives}",
                "-keyout", pair.key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.pair.cert, "-CAkey", self.pair.key, "-CAcreateserial", "-copy_extensions",
                "copyall", "-days", days, "-out", pair.cert)
        return pair

    def ocsp(self, pair):
        """A response that calls the certificate good, as a file."""
        index, file = self.folder / "index.txt", self.folder / "ocsp.der"
        index.write_text(f"V\t491231235959Z\t\t{pair.serial()}\tunknown\t/CN=x\n")
        openssl("ocsp", "-index", index, "-CA", self.cert, "-rsigner", self.cert, "-rkey", self.pair.key, "-issuer", self.cert, "-cert",
                pair.cert, "-ndays", 7, "-respout", file)
        return file
