import { spawnSync } from 'node:child_process';

/** Debian's python3-requests belongs to the first; a machine may have another Python before it. */
const PYTHONS = ['/usr/bin/python3', 'python3'];

const knowsRequests = (python: string): boolean =>
  spawnSync(python, ['-c', 'import requests'], { stdio: 'ignore' }).status === 0;

/** A Python that has the library `requests`, which no package of npm can bring. */
export const findPythonWithRequests = (): string | undefined => PYTHONS.find(knowsRequests);
