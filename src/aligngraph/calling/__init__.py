"""How models are called: within a budget, again where an error passes, and not at all where a model keeps failing.

Nothing is imported here: `settings` and `budget` are read with every team file, the rest loads LangChain.
"""
