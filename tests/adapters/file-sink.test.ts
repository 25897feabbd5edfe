import { execFile } from 'node:child_process';
import { appendFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createFileSink } from '../../src/adapters/event-sinks/file-sink.ts';
import { makeScratchFolder } from '../support/files.ts';
import { failureOf } from '../support/rejects.ts';

const WRITER = join(import.meta.dirname, '../fixtures/file-sink.ts');

const files = suite('files of events');
const run = promisify(execFile);
const { signal } = new AbortController();

const eventsOf = (...ids: number[]) =>
  ids.map((id) => ({
    id,
    type: 'user.updated',
    timestamp: new Date(0),
    actor: null,
    subject: `line\nbreak ${'x'.repeat(50)}`,
  }));

const idsIn = async (path: string): Promise<number[]> => {
  const text = await readFile(path, 'utf8');
  assert.ok(text === '' || text.endsWith('\n'), 'the last line is whole');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).id);
};

files('get a line of JSON for each event, and are not readable for everyone', async () => {
  await using folder = await makeScratchFolder();
  const path = folder.join('events.jsonl');
  const sink = createFileSink(path);
  await sink.write(eventsOf(1, 2), signal);
  await sink.write(eventsOf(3), signal);

  assert.equal(await idsIn(path), [1, 2, 3]);
  assert.is((await stat(path)).mode & 0o027, 0);
});

files('are followed by a new one when they are renamed', async () => {
  await using folder = await makeScratchFolder();
  const path = folder.join('events.jsonl');
  const sink = createFileSink(path);
  await sink.write(eventsOf(1), signal);
  await rename(path, `${path}.1`);
  await sink.write(eventsOf(2), signal);

  assert.equal([await idsIn(`${path}.1`), await idsIn(path)], [[1], [2]]);
});

files('lose the half line of a crash, however long it is', async () => {
  await using folder = await makeScratchFolder();
  const path = folder.join('events.jsonl');
  const sink = createFileSink(path);
  for (const half of ['{', '{"id"', '{"id":2,"subject":"é', `{"id":2,"x":"${'y'.repeat(200_000)}`]) {
    await writeFile(path, '{"id":1}\n');
    await appendFile(path, half);
    await sink.write(eventsOf(2), signal);
    assert.equal(await idsIn(path), [1, 2]);
    await writeFile(path, half);
    await sink.write(eventsOf(2), signal);
    assert.equal(await idsIn(path), [2]);
  }
});

files('must be files, in a folder that exists', async () => {
  await using folder = await makeScratchFolder();
  const pipe = folder.join('pipe');
  await run('mkfifo', [pipe]);
  await mkdir(folder.join('folder'));
  for (const [path, reason] of [
    [pipe, /is not a file/],
    ['/dev/full', /is not a file/],
    [folder.join('folder'), /EISDIR/],
    [folder.join('missing', 'events.jsonl'), /ENOENT/],
  ] as const) {
    const sink = createFileSink(path);
    assert.match((await failureOf(sink.write(eventsOf(1), signal))).message, reason, path);
  }
});

files('keep whole lines when the disk takes only a part of a batch', async () => {
  await using folder = await makeScratchFolder();
  const path = folder.join('events.jsonl');
  await createFileSink(path).write(eventsOf(1), signal);
  const { size } = await stat(path);
  // The kernel takes the bytes up to the limit, as a full disk does, and refuses the next ones.
  const write = (limit: number, ...ids: number[]) =>
    run('prlimit', [`--fsize=${limit}`, process.execPath, WRITER, path, JSON.stringify(eventsOf(...ids))]);

  assert.match((await write(size * 2 + 20, 2, 3)).stdout, /file too large/);
  assert.equal(await idsIn(path), [1]);
  assert.is((await write(size * 4, 2, 3)).stdout, 'written');
  assert.equal(await idsIn(path), [1, 2, 3]);
});

files.run();
