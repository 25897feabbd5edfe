#!/usr/bin/env node
// @ts-check
// This file and `node-launcher.js` must load on Node 18, so that an old Node can start the bundled one: no static import of
// anything newer.
import {
  applyMemorySettings,
  exitWithLauncher,
  isSupportedNode,
  runOnBundledNode,
} from './cli/node-launcher.js';

const wasLaunched = exitWithLauncher();
if (isSupportedNode()) {
  applyMemorySettings();
  const { enableCodeCache } = await import('./cli/code-cache.js');
  enableCodeCache(process.argv[2], process.env);
  // JavaScript so far: Node's type stripper takes 50 ms and 18 MB, and cached code is already stripped. Not a static import:
  // those are compiled before the cache is on.
  const { runProgram } = await import('./cli/program.ts');
  await runProgram();
} else {
  runOnBundledNode(wasLaunched);
}
