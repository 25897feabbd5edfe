import { readFile, writeFile } from 'node:fs/promises';
import { GENERATED_DOCUMENTS, withGeneratedBlock } from './generated.ts';

for (const { file, generate } of GENERATED_DOCUMENTS) {
  await writeFile(file, withGeneratedBlock(await readFile(file, 'utf8'), generate()));
}
