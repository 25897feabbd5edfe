import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseEncoding } from '../../src/http/middleware/compression.ts';

const encodings = suite('chooseEncoding');

encodings('prefers the highest weight, then the order of the server', () => {
  const choices: [string, string][] = [
    ['gzip, deflate, br, zstd', 'zstd'],
    ['br;q=0.5, gzip;q=0.9', 'gzip'],
    ['*', 'zstd'],
    ['zstd;q=0, *', 'br'],
  ];
  for (const [header, chosen] of choices) assert.is(chooseEncoding(header), chosen, header);
});

encodings('chooses identity if the client accepts no supported encoding', () => {
  for (const header of [
    '',
    'identity',
    'deflate',
    'gzip;q=0',
    '*;q=0',
    'identity;q=1, gzip;q=0.5',
    'identity, *;q=0.1',
    'gzip;q=x',
    'gzipp',
    'g zip',
  ])
    assert.is(chooseEncoding(header), 'identity', header);
});

encodings.run();
