"""The building blocks of the stack: one component a module, arguments in, outputs out.

No configuration, exports, stack names or environment variables in here, and nothing that reads or
waits: what must happen at deploy time is an operation (:mod:`components.operation`). The classes
stay publishable as a component package for other languages: plain annotations, enums, ``| None``.
"""
