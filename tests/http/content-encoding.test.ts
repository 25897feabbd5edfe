import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { chooseEncoding, ENCODINGS } from '../../src/http/middleware/compression.ts';

const encodings = suite('chooseEncoding');

encodings('prefers the highest weight, then the order of the server', () => {
  const choices: [string, string][] = [
    ['gzip', 'gzip'],
    ['gzip, deflate', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['br;q=0.5, gzip;q=0.9', 'gzip'],
    ['GZIP ; Q=0.8 , br ; q=0.2', 'gzip'],
    ['x-gzip', 'gzip'],
    ['*', 'zstd'],
    ['zstd;q=0, *', 'br'],
    ['gzip;q=0, *;q=0.5', 'zstd'],
    ['br;q=1.0, gzip;q=0.8, *;q=0.1', 'br'],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    [`${'x,'.repeat(5000)}gzip`, 'gzip'],
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

encodings('never chooses an encoding with a weight of 0', () => {
  const word = fc.constantFrom(...ENCODINGS, 'identity', '*', 'deflate', '', ' ', ';', 'q=1');
  const range = fc
    .tuple(word, fc.constantFrom('', ';q=0.3', ';q=1', ';q=', '; q=0.001'))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 8 }), fc.subarray([...ENCODINGS]), (ranges, refused) => {
      const header = [...ranges, ...refused.map((encoding) => `${encoding};q=0`)].join(',');
      assert.not.ok(
        refused.some((encoding) => encoding === chooseEncoding(header)),
        header,
      );
    }),
  );
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (header) => void chooseEncoding(header)));
});

encodings.run();
