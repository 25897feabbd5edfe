import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, cp, glob, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import * as assert from 'uvu/assert';
import serverManifest from '../../package.json' with { type: 'json' };
import manifest from '../../packaging/client/package.json' with { type: 'json' };
import { ticketOf } from '../support/access-views.ts';
import { browserSuite, fillLogin, REFUSED } from '../support/browser.ts';
import { CHROMIUM } from '../support/environment.ts';
import { compile, describe, installInto, installWorkspace } from '../support/packaging.ts';
import { testAppearance } from '../support/screenshots.ts';
import { addressOf, appSuite, DEMO_PASSWORD, GRACE } from '../support/test-app.ts';

const run = promisify(execFile);
const PROJECT = join(import.meta.dirname, '../..');
const CLIENT = 'packaging/client';
const STRICT = ['--noUncheckedIndexedAccess', '--exactOptionalPropertyTypes', '--target', 'esnext'];
const NODE_TYPES = ['--types', 'node', '--skipLibCheck'];
const MODULES = {
  nodenext: ['--module', 'nodenext'],
  bundler: ['--module', 'preserve', '--moduleResolution', 'bundler'],
};
/** The types of the sources take 1.7 million. */
const MAX_INSTANTIATIONS = 300_000;

// Both suites are in one file and use one package: files run in parallel, and `npm pack` replaces `dist`.
const client = appSuite('installed @steward/client');
let installed: Awaited<ReturnType<typeof installWorkspace>>;
/** The suite that runs last removes the package. */
const hasBrowser = existsSync(CHROMIUM);

client.before(async () => {
  const nodeTypes = `@types/node@${serverManifest.devDependencies['@types/node']}`;
  const trpc = `@trpc/client@${serverManifest.devDependencies['@trpc/client']}`;
  installed = await installWorkspace(CLIENT, trpc, nodeTypes);
  const sources = ['tests/fixtures/package/{typed,wrong}.ts', 'docs/examples/people.ts'];
  for await (const file of glob(sources, { cwd: PROJECT }))
    await copyFile(join(PROJECT, file), join(installed.app, basename(file)));
});
client.after(async () => {
  if (!hasBrowser) await installed.folder[Symbol.asyncDispose]();
});

client('contains only modules and declarations', () => {
  const strays = installed.files.filter(
    (file) => !/^package\/(package\.json|LICENSE|README\.md|dist\/.+\.(js|d\.ts))$/.test(file),
  );

  assert.ok(installed.files.includes('package/dist/src/client.js'));
  assert.equal(strays, []);
  assert.equal(
    installed.files.filter(
      (file) =>
        /\.js$/.test(file) &&
        !/\/src\/(client[./]|lib\/(exact-json|trpc-limits|ticket-claims)\.js)/.test(file),
    ),
    [],
  );
});

client('depends on few packages, and has the version of the service', () => {
  const packages = ['eventsource', 'jose', 'lossless-json', 'standardwebhooks', 'superjson'];
  assert.equal(Object.keys(manifest.dependencies), packages);
  assert.is(manifest.version, serverManifest.version);
});

client('verifies tickets without loading the client', async ({ app }) => {
  const ticket = await ticketOf(app, GRACE);
  const program = `
    import { verifyTicket } from '@steward/client/tickets';
    const [ticket, jwksUrl, time] = process.argv.slice(1);
    const options = { issuer: 'http://localhost:8000', app: 'sales', jwksUrl, now: new Date(time) };
    console.log((await verifyTicket(ticket, options)).email);`;
  const keys = `${await addressOf(app)}/.well-known/jwks.json`;
  const args = ['--input-type=module', '-e', program, ticket, keys, app.clock.now().toISOString()];
  const { stdout } = await run(process.execPath, args, { cwd: installed.app });

  assert.is(stdout, `${GRACE}\n`);
  const sources = installed.files.filter((file) => /\/(tickets|ticket-claims)\.js$/.test(file));
  for (const file of sources) {
    const source = await readFile(
      join(installed.app, 'node_modules/@steward/client', file.slice('package/'.length)),
      'utf8',
    );
    assert.not.match(source, /@trpc|superjson/, file);
  }
  assert.is(sources.length, 2);
});

client('verifies tickets and webhooks without tRPC and without TypeScript', async () => {
  const folder = installed.folder.join('receiver');
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), '{"private": true}');
  await installInto(folder, installed.archive);
  const program = `
    const { verifyTicket } = await import('@steward/client/tickets');
    const { verifyWebhook } = await import('@steward/client/webhooks');
    console.log(typeof verifyTicket, typeof verifyWebhook);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: folder });
  const packages = await readdir(join(folder, 'node_modules'));

  assert.is(stdout, 'function function\n');
  assert.ok(packages.includes('jose'));
  assert.equal(
    packages.filter((name) => /trpc|typescript/.test(name)),
    [],
  );
});

client('runs docs/examples/people.ts', async ({ app }) => {
  const env = { ...process.env, STEWARD_URL: await addressOf(app), STEWARD_PASSWORD: DEMO_PASSWORD };
  const { stdout } = await run(process.execPath, ['people.ts', 'packed@acme.test'], {
    cwd: installed.app,
    env,
  });

  assert.match(stdout, 'ada@acme.test');
  assert.match(stdout, 'Added packed@acme.test');
});

for (const [name, options] of Object.entries(MODULES)) {
  client(`has declarations that compile in a strict project: ${name}`, async () => {
    const { errors, instantiations } = await compile(installed.app, 'typed.ts', [...STRICT, ...options]);

    assert.equal(errors, []);
    assert.ok(instantiations > 1000 && instantiations < MAX_INSTANTIATIONS, `${instantiations}`);
  });

  client(`has readable type errors: ${name}`, async () => {
    const { errors } = await compile(installed.app, 'wrong.ts', [...STRICT, ...options]);

    assert.is(errors.length, 6, errors.join('\n'));
    const expected = [
      /password_hash/,
      /'Date'.*'string'/,
      /'string'.*'boolean/,
      /'email' is missing/,
      /arguments/,
      /vanish/,
    ];
    for (const [index, pattern] of expected.entries()) assert.match(errors[index] ?? '', pattern);
    for (const error of errors) assert.ok(error.length < 400, error);
  });
}

client('describes each procedure where an editor shows it', async () => {
  const compilerOptions = { strict: true, module: 'nodenext', noEmit: true, types: [] };
  await writeFile(
    join(installed.app, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['typed.ts'] }),
  );
  const [list, stream] = await describe(installed.app, 'typed.ts', ['api.sites.list', 'api.events.stream']);
  const declarations = 'node_modules/@steward/client/dist/packaging/procedures.d.ts';
  const lines = (await readFile(join(installed.app, declarations), 'utf8')).split('\n');
  const verbs = lines.flatMap((line, index) => (/^ {16}type: "/.test(line) ? [index - 1] : []));

  assert.is(list, 'List sites.\n\nFor all users.');
  assert.match(stream ?? '', /^Stream events\./);
  assert.ok(verbs.length > 200);
  assert.equal(
    verbs.filter((index) => !lines[index - 1]?.endsWith('*/')),
    [],
  );
});

client('has the same types as the sources', async () => {
  const target = ['--module', 'nodenext', '--target', 'es2024', '--lib', 'es2024,esnext.array'];
  const options = [...target, ...NODE_TYPES, '--allowImportingTsExtensions', '--resolveJsonModule'];
  const { errors } = await compile(PROJECT, 'tests/fixtures/package/same.ts', options);

  assert.equal(errors, []);
});

client('has the types that people.ts needs', async () => {
  const { errors } = await compile(installed.app, 'people.ts', [
    ...STRICT,
    ...MODULES.nodenext,
    ...NODE_TYPES,
  ]);

  assert.equal(errors, []);
});

client.run();

const vite = browserSuite('the Vite example', REFUSED);
let preview: { address: string; stop: () => Promise<void> };

/** Resolves with the address that Vite prints. */
const startPreview = async (folder: string, steward: string) => {
  const args = ['node_modules/vite/bin/vite.js', 'preview', '--host', '127.0.0.1', '--port', '0'];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, STEWARD_URL: steward, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill();
    await exited;
  };
  for await (const line of createInterface(child.stdout)) {
    const [address] = /http:\S+/.exec(line) ?? [];
    if (address === undefined) continue;
    child.stdout.resume();
    return { address, stop };
  }
  throw new Error('Vite did not print its address.');
};

vite.before(async ({ app }) => {
  const folder = installed.folder.join('vite-app');
  await cp(join(PROJECT, 'docs/examples/vite-app'), folder, {
    recursive: true,
    filter: (file) => !/\/(node_modules|dist)$/.test(file),
  });
  await copyFile(installed.archive, join(folder, basename(installed.archive)));
  await installInto(folder);
  await run('npm', ['run', 'build'], { cwd: folder });
  preview = await startPreview(folder, app.server.listeningOrigin);
});
vite.after(async () => {
  await preview.stop();
  await installed.folder[Symbol.asyncDispose]();
});

vite.withoutPage('shares one copy of tRPC with TanStack Query', async () => {
  const folder = installed.folder.join('vite-app');
  const { stdout } = await run('npm', ['ls', '@trpc/client', '--parseable'], { cwd: folder });

  assert.equal(stdout.trim().split('\n'), [join(folder, 'node_modules/@trpc/client')]);
});

vite('logs in, lists apps, keeps the session after a reload, and logs out', async ({ page }) => {
  await page.goto(preview.address);
  await fillLogin(page, 'grace@acme.test', DEMO_PASSWORD);
  await page.getByRole('heading', { name: 'Hello Grace' }).waitFor();
  await page.getByRole('listitem').waitFor();
  await page.reload();
  await page.getByRole('listitem').waitFor();

  assert.match((await page.getByRole('listitem').textContent()) ?? '', 'Sales');
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'Log in' }).waitFor();
  assert.not.ok((await page.context().cookies()).some(({ name }) => name === 'steward_session'));
});

vite('shows login errors and field errors', async ({ page }) => {
  await page.goto(preview.address);
  await fillLogin(page, 'ada@acme.test', 'wrong');
  await page.getByText('Unable to log in with provided credentials.').waitFor();
  await fillLogin(page, 'ada@acme.test', DEMO_PASSWORD);
  await page.getByLabel('Current password').fill(DEMO_PASSWORD);
  await page.getByLabel('New password').fill('short');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByRole('alert').waitFor();

  assert.is(await page.getByLabel('New password').getAttribute('aria-invalid'), 'true');
  assert.is(await page.getByLabel('Current password').getAttribute('aria-invalid'), 'false');
  assert.match((await page.locator('.error').allTextContents()).join(), '8 characters');
});

testAppearance(vite, {
  'vite-login': async (page) => {
    await page.goto(preview.address);
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
  },
  'vite-apps': async (page) => {
    await page.goto(preview.address);
    await fillLogin(page, 'ada@acme.test', DEMO_PASSWORD);
    await page.getByRole('listitem').first().waitFor();
  },
});

if (hasBrowser) vite.run();
else console.log(`Skipped the Vite example: ${CHROMIUM} does not exist.`);
