"""Plain Python functions as tools: the signature is the schema, the docstring the description.

Runs without a key on the script beside this file; set TOOLWRIGHT_MODEL (claude-…, openai:…) to ask a real model.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import anyio

from toolwright import ClaudeAgentOptions, ResultMessage, query

SCRIPT = Path(__file__).with_suffix(".json")
STOCK = {"apple": 12, "pear": 0}


@dataclass
class Order:
    fruit: str
    amount: int = 1


def in_stock(fruit: Annotated[str, "Singular, lower case"]) -> int:
    """Tell how many pieces of a fruit are in stock."""
    return STOCK.get(fruit, 0)


async def place_order(order: Order, delivery: Literal["today", "tomorrow"] = "tomorrow") -> str:
    """Order fruit.

    Args:
        order: What to order.
        delivery: When it should come.
    """
    if STOCK.get(order.fruit, 0) < order.amount:
        raise ValueError(f"only {STOCK.get(order.fruit, 0)} of {order.fruit} left")  # the model sees this and can react
    STOCK[order.fruit] -= order.amount
    return f"{order.amount} × {order.fruit} ordered, delivery {delivery}"


async def main() -> None:
    options = ClaudeAgentOptions(
        model=os.environ.get("TOOLWRIGHT_MODEL", f"scripted:{SCRIPT}"),
        tools=[in_stock, place_order],
    )
    async for message in query(prompt="Order three apples for today.", options=options):
        if isinstance(message, ResultMessage):
            print(message.result)
    print(f"Left in stock: {STOCK}")


if __name__ == "__main__":
    anyio.run(main)
