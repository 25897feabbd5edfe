import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IP address in PostgreSQL's `inet` format; an IPv4-mapped IPv6 address as IPv4. Null if the text is not an address. */
export const canonicalAddress = (text: string): string | null => {
  const [address = ''] = text.split('%'); // `fe80::1%eth0`
  return isIP(address) === 0 ? null : ipaddr.process(inHexadecimal(address)).toString();
};

/**
 * The address of a node in the forms that proxies use: with a port, in brackets, in quotes, or `for="[2001:db8::1]:443"` (RFC 7239). Text
 * without an address is returned unchanged.
 */
export const nodeAddress = (node: string): string => {
  const text = node
    .trim()
    .replace(/^for=/i, '')
    .replace(/^"(.*)"$/, '$1');
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\w+)?$/.exec(text) ?? [];
  const address = inBrackets ?? beforePort ?? text;
  return canonicalAddress(address) ?? address;
};

/** Writes `::10.0.0.1` as `::a00:1`: ipaddr.js would read it as an IPv4-mapped address. */
const inHexadecimal = (address: string): string =>
  isIP(address) === 6 ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;

/**
 * The IPv4 address, or the first three groups of an IPv6 address: its /48, the largest network of a single customer. The /48 of homes and
 * phones has many customers, as an IPv4 address of their providers has.
 */
export const networkOf = (address: string): string => {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const trailing = tail.split(':').filter(Boolean);
  const zeros = Array(Math.max(0, 8 - groups.length - trailing.length)).fill('0');
  return [...groups, ...(address.includes('::') ? zeros : []), ...trailing].slice(0, 3).join(':');
};

/** The network of a text in CIDR notation, in PostgreSQL's `cidr` format, or the reason why it is invalid. */
export const parseNetwork = (text: string): { network: string } | { reason: string } => {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  const maxBits = version === 4 ? 32 : 128;
  const bits = Number(prefix ?? maxBits);
  if (version === 0 || address.includes('%') || bits > maxBits)
    return { reason: 'Must be a network such as 10.0.0.0/8 or 2001:db8::/32.' };
  const network = networkAddress(inHexadecimal(address), bits);
  if (!network.isSame) return { reason: `Has bits beyond its prefix. Use ${network.address}/${bits}.` };
  const mapped = bits >= 96 && version === 6 ? canonicalAddress(address) : null;
  return mapped?.includes('.')
    ? { network: `${mapped}/${bits - 96}` }
    : { network: `${network.address}/${bits}` };
};

/** The first address of a network, and whether it equals the given address. */
const networkAddress = (address: string, bits: number) => {
  const parsed = ipaddr.parse(address);
  const cidr = `${address}/${bits}`;
  const { IPv4, IPv6 } = ipaddr;
  const first = (parsed.kind() === 'ipv4' ? IPv4 : IPv6).networkAddressFromCIDR(cidr);
  const isSame = first.toNormalizedString() === parsed.toNormalizedString();
  return { address: first.toString(), isSame };
};

/**
 * Whether the host is reachable only from this machine. An IPv6 address may be in brackets, as in a URL. Names under localhost do not
 * count, because a name server may resolve them.
 */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

/** Whether a network is a part of one of these networks, all in CIDR notation. */
export const isPartOf = (network: string, networks: readonly string[]): boolean => {
  const [first, bits] = ipaddr.parseCIDR(network);
  return isInNetworks(
    first.toString(),
    networks.filter((other) => ipaddr.parseCIDR(other)[1] <= bits),
  );
};

/** Whether an address is in one of these networks, which are in CIDR notation. */
export const isInNetworks = (address: string, networks: readonly string[]): boolean => {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.process(address);
  return networks.some((network) => {
    const [range, bits] = ipaddr.parseCIDR(network);
    return range.kind() === parsed.kind() && parsed.match([range, bits]);
  });
};
