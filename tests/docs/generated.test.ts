import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { GENERATED_DOCUMENTS, withGeneratedBlock } from '../../packaging/docs/generated.ts';

const documents = suite('generated documents');

for (const { file, generate } of GENERATED_DOCUMENTS) {
  documents(`docs/${basename(file)} is up to date (npm run docs writes it)`, async () => {
    const document = await readFile(file, 'utf8');

    assert.is(document, withGeneratedBlock(document, generate()));
  });
}

documents.run();
