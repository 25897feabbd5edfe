import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decodeCsv, UnreadableCsv } from '../../console/src/invite/parse-csv.ts';

const csv = suite('CSV files in the console');

const TEXT = 'email,first_name\nada@acme.test,Zoë\n';
const bytesOf = (text: string, encoding: BufferEncoding): ArrayBuffer => {
  const { buffer, byteOffset, byteLength } = Buffer.from(text, encoding);
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer; // of a Buffer
};

csv('are read in UTF-8, and in UTF-16 with a byte order mark', () => {
  assert.is(decodeCsv(bytesOf(TEXT, 'utf8')), TEXT);
  assert.is(decodeCsv(bytesOf(`\ufeff${TEXT}`, 'utf8')), TEXT);
  assert.is(decodeCsv(bytesOf(`\ufeff${TEXT}`, 'utf16le')), TEXT);
  assert.is(decodeCsv(new ArrayBuffer(0)), '');
});

csv('in a code page, such as plain CSV of Excel, are refused instead of guessed', () => {
  assert.throws(
    () => decodeCsv(bytesOf(TEXT, 'latin1')),
    (error: unknown) => error instanceof UnreadableCsv && /not in UTF-8/.test(error.message),
  );
});

csv.run();
