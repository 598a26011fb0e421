"""The sweep of faults: every call, every kind of fault, and what becomes of a stack afterwards.

``scripts/faults`` runs it; ``docs/maintainers/faults.md`` is what came of it.

=============  ============================================================================
``calls``      names of calls, and the recorded table of them
``kinds``      kinds of faults, as rules of a fault plan
``expected``   what is expected of a call that meets a kind
``stage``      a simulated Azure with stacks, to be gone back to
``worlds``     what two states of a simulated Azure differ in
``cures``      the commands that the documentation gives for an error, and running them
``sample``     the fixed sample of ``groups`` that every run of the tests has
``groups``, ``holds``, ``signals``, ``hostile``, ``rights``, ``two``
               the cases of each verb, and how one is run
``sweep``      running cases side by side
``matrix``     the results: kept, resumed, shown
``page``       the page about them
=============  ============================================================================
"""
