import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { assertRefused, runCommand, STACK } from '../support/service-process.ts';

const help = suite('steward --help');

for (const [command, described] of [
  ['', 'Commands:'],
  ['serve', 'Run the service'],
  ['demo', 'demo workspace'],
  ['doctor', '--json'],
  ['migrate', 'Apply pending migrations and exit'],
  ['create-admin', 'ADMIN_PASSWORD'],
  ['invite', 'queued'],
  ['import-django', 'dumpdata'],
  ['keys rotate', '330 seconds'],
  ['apps', 'publish'],
  ['apps pack', 'app.yaml'],
  ['apps pack', 'node_modules'],
  ['apps publish', 'APP_STORE'],
] as const) {
  help(`describes \`steward ${command}\``, async () => {
    const { code, stdout, stderr } = await runCommand([...command.split(' ').filter(Boolean), '--help']);

    assert.is(code, 0);
    assert.match(stdout, `Usage: steward${command && ` ${command}`}`);
    assert.match(stdout, described);
    assert.is(stderr, '');
  });
}

for (const args of [['explode'], ['apps', 'explode'], ['create-admin'], ['serve', '--loudly']]) {
  help(`is printed after refusing \`steward ${args.join(' ')}\``, async () => {
    const { code, stdout, stderr } = await runCommand(args);

    assert.is(code, 1);
    assert.is(stdout, '');
    assert.match(stderr, /^error: .+\n\nUsage: steward/);
    assert.not.match(stderr, STACK);
  });
}

help.run();

const packageErrors = suite('errors in app packages');

const withManifest = async (folder: { join(name: string): string }, text: string): Promise<string> => {
  const dir = folder.join('app');
  await mkdir(dir);
  await writeFile(join(dir, 'app.yaml'), text);
  return dir;
};

packageErrors('are reported for a missing folder', async () => {
  await using folder = await makeScratchFolder();

  const outcome = await runCommand(['apps', 'pack', folder.join('none')]);

  assertRefused(outcome, 1);
  assert.match(outcome.stderr, folder.join('none'));
});

for (const [out, reason] of [
  ['/proc/nope', 'The folder /proc/nope cannot be created: the file system does not allow it.'],
  ['', 'The name of a folder is empty.'],
] as const) {
  packageErrors(`are reported for the output folder ${JSON.stringify(out)}`, async () => {
    await using folder = await makeScratchFolder();
    const dir = await withManifest(folder, 'slug: sales\nversion: 1.0.0\nlabel: Sales\n');

    const outcome = await runCommand(['apps', 'pack', dir, '--out', out], {}, folder.path);

    assertRefused(outcome, 1);
    assert.is(outcome.stderr, `${reason}\n`);
  });
}

packageErrors('are reported on standard error for files that pack excludes', async () => {
  await using folder = await makeScratchFolder();
  const dir = await withManifest(folder, 'slug: sales\nversion: 1.0.0\nlabel: Sales\n');
  for (let count = 10; count < 32; count += 1) await writeFile(join(dir, `.env.${count}`), '');
  await mkdir(join(dir, '.git'));

  const { code, stdout, stderr } = await runCommand(['apps', 'pack', dir, '--out', folder.path]);

  assert.is(code, 0, stderr);
  assert.match(stdout, /^\S+sales-1\.0\.0\.tgz\n\d+ bytes, SHA-256 [0-9a-f]{64}\n$/);
  assert.match(stderr, /^Excluded: "\.env\.10" .* "\.env\.29" and 3 more\n$/);
});

packageErrors('are reported with the line of invalid YAML in app.yaml', async () => {
  await using folder = await makeScratchFolder();
  const dir = await withManifest(folder, 'slug: sales\nversion: [\n');

  const outcome = await runCommand(['apps', 'pack', dir, '--out', folder.path]);

  assertRefused(outcome, 1);
  assert.match(outcome.stderr, /app\.yaml is not valid YAML at line \d/);
});

packageErrors('are reported for every invalid field of app.yaml', async () => {
  await using folder = await makeScratchFolder();
  const dir = await withManifest(folder, 'slug: Not A Slug\nversion: one\n');

  const { code, stdout, stderr } = await runCommand(['apps', 'pack', dir, '--out', folder.path]);

  assert.is(code, 1);
  assert.is(stdout, '');
  for (const field of ['slug', 'version', 'label']) assert.match(stderr, field);
  assert.not.match(stderr, STACK);
});

for (const [what, name, content] of [
  ['is missing', 'sales-1.0.0.tgz', null],
  ['has no name of a package', 'sales.zip', 'text'],
  ['is no archive', 'sales-1.0.0.tgz', 'text'],
] as const) {
  packageErrors(`are reported for publishing a file that ${what}`, async () => {
    await using folder = await makeScratchFolder();
    if (content !== null) await writeFile(folder.join(name), content);

    const outcome = await runCommand(['apps', 'publish', folder.join(name)], { DATA_DIR: folder.path });

    assertRefused(outcome, 1);
  });
}

packageErrors.run();
