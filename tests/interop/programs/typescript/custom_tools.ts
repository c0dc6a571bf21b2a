import {
  query,
  tool,
  createSdkMcpServer
} from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';

// 1. Define custom tools
const calculateTool = tool(
  'calculate',
  'Performs basic arithmetic calculations',
  {
    operation: z.enum(['add', 'subtract', 'multiply', 'divide'])
      .describe('The arithmetic operation to perform'),
    a: z.number().describe('First operand'),
    b: z.number().describe('Second operand')
  },
  async (args) => {
    let result: number;
    switch (args.operation) {
      case 'add': result = args.a + args.b; break;
      case 'subtract': result = args.a - args.b; break;
      case 'multiply': result = args.a * args.b; break;
      case 'divide':
        if (args.b === 0) {
          return {
            content: [{ type: 'text', text: 'Error: Division by zero' }],
            isError: true
          };
        }
        result = args.a / args.b;
        break;
    }

    return {
      content: [{
        type: 'text',
        text: `Result: ${result}`
      }]
    };
  }
);

const weatherTool = tool(
  'get_weather',
  'Gets weather information for a city',
  {
    city: z.string().describe('City name'),
    units: z.enum(['celsius', 'fahrenheit']).optional()
      .describe('Temperature units')
  },
  async (args) => {
    // In real implementation, call weather API
    return {
      content: [{
        type: 'text',
        text: `Weather in ${args.city}: Sunny, 72°${args.units === 'celsius' ? 'C' : 'F'}`
      }]
    };
  }
);

// 2. Create MCP server with tools
const customTools = createSdkMcpServer({
  name: 'my-custom-tools',
  version: '1.0.0',
  tools: [calculateTool, weatherTool]
});

// 3. Use in agent
const agent = query({
  prompt: "What's 42 + 58? Also check the weather in San Francisco.",
  options: {
    mcpServers: {
      'custom': customTools
    }
  }
});

// 4. Process results
for await (const message of agent) {
  console.log(message);
}
