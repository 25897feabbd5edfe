import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';

const SCRIPT = join(import.meta.dirname, '../../deploy/systemd/steward.sh');
const PRINT = '#!/bin/sh\nenv\nid -un\nprintf "[%s]\\n" "$@"\n';

const run = promisify(execFile);
const command = suite('deploy/systemd/steward.sh');

command('runs a command as the user of the service, with settings that no shell expands', async () => {
  if (process.getuid?.() !== 0)
    return console.log('Left out deploy/systemd/steward.sh: only root can run it.');

  await using folder = await makeScratchFolder();
  await chmod(folder.path, 0o755);
  const settings = [
    '# SMTP_URL=smtp://localhost',
    'BASE_URL=https://steward.example.com',
    'BACKUP_PASSPHRASE=two words & $HOME `id`',
    'ADMIN_PASSWORD="in quotes"',
    '',
    'DATABASE_URL=postgres://u:p@db/steward?sslmode=require&host=/run',
  ];
  await writeFile(folder.join('steward.env'), settings.join('\n'), { mode: 0o600 });
  const script = (await readFile(SCRIPT, 'utf8'))
    .replace('=/etc/steward.env', `=${folder.join('steward.env')}`)
    .replace('-u steward', '-u daemon');
  await writeFile(folder.join('steward.sh'), script);
  await mkdir(folder.join('node_modules/.bin'), { recursive: true });
  await writeFile(folder.join('node_modules/.bin/steward'), PRINT, { mode: 0o755 });

  const env = { PATH: process.env.PATH, STEWARD_FOLDER: folder.path };
  const { stdout } = await run('sh', [folder.join('steward.sh'), 'backup', 'a folder'], { env, cwd: '/' });
  const lines = stdout.split('\n');

  for (const line of [
    'BASE_URL=https://steward.example.com',
    'BACKUP_PASSPHRASE=two words & $HOME `id`',
    'ADMIN_PASSWORD=in quotes',
    'DATABASE_URL=postgres://u:p@db/steward?sslmode=require&host=/run',
    'DATA_DIR=/var/lib/steward',
  ])
    assert.ok(lines.includes(line), `${line}\n${stdout}`);
  assert.not.match(stdout, 'SMTP_URL');
  assert.equal(lines.slice(-4, -1), ['daemon', '[backup]', '[a folder]']);
});

command.run();
