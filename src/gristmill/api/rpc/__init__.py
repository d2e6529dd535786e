"""The gRPC face: health, reflection, and what flows register."""

from gristmill.api.rpc.server import RpcServer, is_grpc_installed

__all__ = ["RpcServer", "is_grpc_installed"]
