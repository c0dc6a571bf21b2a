"""toolwright in this process."""

import agent_sdk
import experiments

import toolwright

connect = agent_sdk.connect_with(toolwright)

if __name__ == "__main__":
    experiments.main(connect)
