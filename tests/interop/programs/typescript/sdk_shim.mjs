// Stands under the published SDK's name, so that programs run as written: the same exports, with our command and a scripted model.
import * as sdk from "PUBLISHED";
export * from "PUBLISHED";

export const query = ({ prompt, options }) =>
  sdk.query({
    prompt,
    options: { pathToClaudeCodeExecutable: process.env.OUR_COMMAND, model: process.env.SCRIPTED_MODEL, ...options },
  });
