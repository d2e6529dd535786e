"""Imported by the interpreter before anything else, in processes that `slow_disk_environment` was made for."""

from gristmill.testing.slow_disk import install_slow_disk

install_slow_disk()
