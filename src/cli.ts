#!/usr/bin/env node
import { keepCompiledCode } from './cli/code-cache.ts';

keepCompiledCode(process.argv[2], process.env);
// Not before: what a module imports is compiled before the module runs.
const { runProgram } = await import('./cli/program.ts');
await runProgram();
