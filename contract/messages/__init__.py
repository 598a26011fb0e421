"""What the program asks of the operations and what they answer: one module a subject.

The program writes a request as JSON (:meth:`contract.messages.base.Message.to_json`) to a command's
standard input, where the engine keeps it in state. So a request holds nothing that is secret,
expires, or differs between machines: no token, no path, no endpoint that only tests use. Keys are
camelCase on the wire. What older versions wrote is still read: fields are added with a default that
leaves them out of the JSON, and none is renamed or taken away.
"""
