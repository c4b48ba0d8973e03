"""A team in place of one model inside a LangChain chain: `python examples/in_a_chain.py`."""

from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

from aligngraph import AlignChatModel

prompt = ChatPromptTemplate.from_messages([("system", "Use metric units."), ("human", "{question}")])
chain = prompt | AlignChatModel(domain="arithmetic") | StrOutputParser()

print(chain.invoke({"question": "Mia has 8 pencils and buys 5 more. How many pencils does she have now?"}))
