import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { STEPS } from './steps.ts';
import { startTour } from './tour.ts';

/** `npm run console:tour` shows what an admin does in the console, and saves the screenshots of docs/console.md. */
const FOLDER = join(import.meta.dirname, '../../docs/console');

const save = async (name: string, png: Buffer): Promise<void> => {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, `${name}.png`), png);
};

await using closing = new AsyncDisposableStack();
try {
  const tour = await startTour({ save }, closing);
  for (const { title, run } of STEPS) console.log(`${title}: ${await run(tour)}`);
  console.log('The screenshots are in docs/console.');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
