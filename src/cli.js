#!/usr/bin/env node
// @ts-check
import { keepCompiledCode } from './cli/code-cache.js';

keepCompiledCode(process.argv[2], process.env);
// JavaScript so far: Node's stripper of types takes 50 ms and 18 MB, and what is kept is stripped already. No import
// above: what a module imports is compiled before the module runs.
const { runProgram } = await import('./cli/program.ts');
await runProgram();
