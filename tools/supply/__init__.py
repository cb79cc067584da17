"""Supply chain and hardening: locks, audits, SBOMs, a TLS scan, a matrix of Pythons.

    python -m tools.supply.locks           write the locks of the image and of development again
    python -m tools.supply.audit           known vulnerabilities of what is locked (`make audit`)
    python -m tools.supply.tls_scan        grade the TLS of a real server (`make tls-scan`)
    python -m tools.supply.matrix          try the wheel with every Python here (`make matrix`)

Scanners run in environments of their own below build/supply: their dependencies are not policyd's.
"""
