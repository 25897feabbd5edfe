import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import manifest from '../../package.json' with { type: 'json' };
import { findOlderNode } from '../support/environment.ts';
import { installWorkspace } from '../support/packaging.ts';
import { startService } from '../support/service-process.ts';
import { suiteWith } from '../support/suite.ts';

const run = promisify(execFile);

const tests = suiteWith('the package, installed', async (started) => {
  const installed = await installWorkspace('.');
  started.use(installed.folder);
  return installed;
});

tests('has what runs and what is read, and nothing else', ({ files }) => {
  const strays = files.filter(
    (file) =>
      !/^package\/(package\.json|LICENSE|(README|CHANGELOG)\.md|deploy\/.+|docs\/.+|dist\/.+\.(js|css|json)|dist\/console\/dist\/.+\.(html|br|gz|woff2)|dist\/console\/dist\/assets\/inter-license\.txt)$/.test(
        file,
      ) && !file.startsWith('package/dist/src/cli/apps-new-template/'),
  );

  assert.ok(files.length > 100);
  assert.equal(strays, []);
  assert.equal(
    Object.keys(manifest.scripts).filter((name) => /install/.test(name)),
    [],
  );
});

tests('runs by npx, with the Node that comes along', async ({ app }) => {
  const { stdout } = await run('npx', ['steward', '--version'], { cwd: app });
  await run('npx', ['steward', 'apps', 'new', 'fresh'], { cwd: app });

  assert.is(stdout.trim(), manifest.version);
  await access(join(app, 'fresh', 'app.yaml'));
});

const olderNode = findOlderNode();
if (olderNode === undefined) console.log('Left out an older Node: PATH has no Node between 18 and 23.');
else
  tests('runs from a shell whose Node is older', async ({ app }) => {
    const env = { PATH: `${dirname(olderNode)}:/usr/bin:/bin` };
    const { stdout } = await run(join(app, 'node_modules/.bin/steward'), ['--version'], { env });

    assert.is(stdout.trim(), manifest.version);
  });

tests('serves from an empty folder', async ({ app, folder }) => {
  const cli = join(app, 'node_modules/.bin/steward');
  await using service = await startService('demo', { DATA_DIR: folder.join('data') }, [], { cli });
  const page = await (await fetch(`${service.address}/login/`)).text();
  const headers = { cookie: 'steward_session=any' };
  const consolePage = await (await fetch(`${service.address}/console/people`, { headers })).text();
  const [script = ''] = /\/console\/assets\/[^"]+\.js/.exec(consolePage) ?? [];
  const asset = await fetch(service.address + script);
  const ending = await service.kill('SIGTERM');

  assert.match(page, '--paper');
  assert.is(asset.status, 200, consolePage);
  assert.is(ending.code, 0, ending.stderr);
});

tests.run();
