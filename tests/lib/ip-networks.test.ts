import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canonicalAddress, isLoopback, nodeAddress, parseNetwork } from '../../src/lib/ip-networks.ts';

const networks = suite('parseNetwork');

const address = fc.oneof(fc.ipV4(), fc.ipV6());

networks('accepts a network if no bit is set beyond its prefix, and names the network otherwise', () => {
  fc.assert(
    fc.property(address, fc.nat(140), (ip, bits) => {
      const parsed = parseNetwork(`${ip}/${bits}`);
      const isPossible = bits <= (isIPv4(ip) ? 32 : 128);
      if ('network' in parsed) {
        assert.ok(isPossible);
        assert.equal(parseNetwork(parsed.network), parsed);
        const [first = '', prefix] = parsed.network.split('/');
        const list = new BlockList();
        list.addSubnet(first, Number(prefix), isIPv4(first) ? 'ipv4' : 'ipv6');
        const canonical = canonicalAddress(ip) ?? '';
        assert.ok(list.check(canonical, isIPv4(canonical) ? 'ipv4' : 'ipv6'));
        return;
      }
      const [, suggested] = /Use (\S+)\.$/.exec(parsed.reason) ?? [];
      assert.is(suggested !== undefined, isPossible);
      if (suggested !== undefined) assert.ok('network' in parseNetwork(suggested), suggested);
    }),
    { numRuns: 2_000 },
  );
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
