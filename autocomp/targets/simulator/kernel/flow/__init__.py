"""Where the control and the data of a kernel flow, over its bytecode."""
