import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalAddress, isLoopback, nodeAddress, parseNetwork } from '../../src/lib/ip-networks.ts';

const networks = suite('parseNetwork');

networks('names the network of an address with bits beyond its prefix', () => {
  const parsed = parseNetwork('10.1.2.3/8');
  assert.match('reason' in parsed ? parsed.reason : '', 'Use 10.0.0.0/8.');
});

networks('refuses all other texts', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      if (canonicalAddress(text.replace(/\/.*$/s, '')) === null)
        assert.ok('reason' in parseNetwork(text), text);
    }),
  );
  for (const text of [
    '',
    '/',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/ 8',
    '10.0.0.0/08x',
    '010.0.0.0/8',
    '10.1/8',
    'fe80::1%eth0/64',
  ])
    assert.ok('reason' in parseNetwork(text), text);
});

networks('turns IPv4-mapped addresses and networks into IPv4', () => {
  assert.equal(parseNetwork('::ffff:10.0.0.0/104'), { network: '10.0.0.0/8' });
  assert.equal(parseNetwork('::FFFF:c000:0207'), { network: '192.0.2.7/32' });
  assert.is(canonicalAddress('::ffff:10.1.2.3'), '10.1.2.3');
  assert.is(canonicalAddress('::10.1.2.3'), '::a01:203');
  assert.equal(parseNetwork('::10.0.0.0/104'), { network: '::a00:0/104' });
  assert.is(canonicalAddress('2001:DB8:0::1'), '2001:db8::1');
  assert.is(canonicalAddress('10.0.0.300'), null);
});

networks('takes only localhost, 127.0.0.0/8 and ::1 for this machine', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.9.10', '::1', '[::1]'])
    assert.ok(isLoopback(host), host);
  for (const host of ['mail.localhost', 'localhost.test', '127.0.0.1.test', '10.0.0.1', '0.0.0.0', '::', ''])
    assert.not(isLoopback(host), host);
});

networks('the address of a node has no port, brackets and quotes', () => {
  for (const [node, address] of [
    ['203.0.113.8', '203.0.113.8'],
    [' 203.0.113.8:50001', '203.0.113.8'],
    ['"203.0.113.8:50001"', '203.0.113.8'],
    ['[2001:DB8::1]:443', '2001:db8::1'],
    ['for="[2001:db8::1]:443"', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['[::ffff:203.0.113.8]', '203.0.113.8'],
    ['unknown', 'unknown'],
    ['_hidden', '_hidden'],
    ['', ''],
  ] as const)
    assert.is(nodeAddress(node), address, node);
});

networks.run();
