import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadSecretKey } from '../../src/config/secret-file.ts';
import { makeScratchFolder } from '../support/files.ts';

const KEY = 'k'.repeat(32);
const isRoot = process.getuid?.() === 0;

const secretKey = suite<{ folder: Awaited<ReturnType<typeof makeScratchFolder>>; file: string }>(
  'secret key',
);

secretKey.before.each(async (context) => {
  context.folder = await makeScratchFolder();
  context.file = context.folder.join('secret-key');
});
secretKey.after.each(({ folder }) => folder[Symbol.asyncDispose]());

const refusal = async (folder: { path: string }): Promise<Error> => {
  const [outcome] = await Promise.allSettled([loadSecretKey(folder.path)]);
  if (outcome.status === 'fulfilled') throw new Error('The file was accepted.');
  return outcome.reason;
};

secretKey('is created once, with mode 0600', async ({ folder, file }) => {
  const created = await loadSecretKey(folder.path);

  assert.match(created, /^[0-9a-f]{64}$/);
  assert.is(await loadSecretKey(folder.path), created);
  assert.is((await stat(file)).mode & 0o777, 0o600);
  assert.equal(await readdir(folder.path), ['secret-key']);
});

secretKey('is the same for concurrent starts', async ({ folder, file }) => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => loadSecretKey(folder.path)));

  assert.is(new Set(keys).size, 1);
  assert.is(await readFile(file, 'utf8'), keys[0]);
});

for (const content of ['', '\n', 'k'.repeat(31)]) {
  secretKey(`is refused with ${content.trim().length} characters`, async ({ folder, file }) => {
    await writeFile(file, content, { mode: 0o600 });

    const { message } = await refusal(folder);

    assert.match(
      message,
      `${file} holds ${content.trim().length} characters, but needs at least 32. Remove it`,
    );
  });
}

for (const mode of [0o660, 0o604, 0o602, 0o640]) {
  secretKey(`is refused with mode 0${mode.toString(8)}`, async ({ folder, file }) => {
    await writeFile(file, KEY);
    await chmod(file, mode);

    const { message } = await refusal(folder);

    assert.match(message, `${file} has mode 0${mode.toString(8)}`);
    assert.match(message, `Run: chmod 600 '${file}'`);
    assert.not.match(message, KEY);
  });
}

secretKey('is refused as the file of another user', async ({ folder, file }) => {
  // Only root can change the owner of a file.
  if (!isRoot) return;
  await writeFile(file, KEY, { mode: 0o600 });
  await chown(file, 65533, 65533);

  assert.match((await refusal(folder)).message, `${file} belongs to uid 65533, but Steward runs as uid 0.`);
});

secretKey('is refused as a folder', async ({ folder, file }) => {
  await mkdir(file);

  assert.match((await refusal(folder)).message, `${file} is not a file.`);
});

secretKey('may be a key of 32 characters that ends with a newline', async ({ folder, file }) => {
  await writeFile(file, `${KEY}\n`, { mode: 0o600 });

  assert.is(await loadSecretKey(folder.path), KEY);
});

secretKey.run();
