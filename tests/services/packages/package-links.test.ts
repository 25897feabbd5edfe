import { suite } from 'uvu';
import {
  inspect,
  inspectEntry,
  type OddEntry,
  packageOf,
  paxHeader,
  refuses,
  tarEntry,
} from '../../support/packages.ts';

const links = suite('inspectPackage: links and devices');

const OFFENCES: [what: string, entry: OddEntry, detail: RegExp][] = [
  ['a symbolic link', { path: 'l', type: 'SymbolicLink', linkpath: '/etc' }, /"l", which is .* SymbolicLink/],
  ['a hard link', { path: 'l', type: 'Link', linkpath: 'app.yaml' }, /"l", which is .* Link/],
  [
    'a hard link out of the folder',
    { path: 'l', type: 'Link', linkpath: '../../etc/passwd' },
    /which is .* Link/,
  ],
  ['app.yaml as a link', { path: './app.yaml', type: 'SymbolicLink', linkpath: 'x' }, /SymbolicLink/],
  ['a character device', { path: 'd', type: 'CharacterDevice' }, /CharacterDevice/],
  ['a block device', { path: 'd', type: 'BlockDevice' }, /BlockDevice/],
  ['a fifo', { path: 'f', type: 'FIFO' }, /FIFO/],
  ['a sparse file', { path: 's', type: 'SparseFile' }, /SparseFile/],
];
for (const [what, entry, detail] of OFFENCES) {
  links(`refuses ${what}`, () => refuses(inspectEntry(entry), detail));
}

links('refuses links with a path in a pax header', () =>
  refuses(
    inspect(
      packageOf([
        paxHeader({ path: 'fine', linkpath: '/etc' }),
        tarEntry({ path: 'l', type: 'SymbolicLink', linkpath: 'x' }),
      ]),
    ),
    /"fine", which is .* SymbolicLink/,
  ),
);

links.run();
