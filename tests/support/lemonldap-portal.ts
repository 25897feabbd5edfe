import { join } from 'node:path';
import { makeScratchFolder, writeFiles } from './files.ts';
import { runProxy } from './proxies.ts';

const PORTAL = join(import.meta.dirname, '../fixtures/lemonldap/portal.psgi');
const TEMPLATES = '/usr/share/lemonldap-ng/portal/templates';

/** What every portal of the tests has. */
const commonOf = (origin: string, pathOf: (name: string) => string) => {
  const store = (name: string) => ({ Directory: pathOf(name), LockDirectory: pathOf(name) });
  const { hostname } = new URL(origin);
  return {
    cfgNum: 1,
    cfgAuthor: 'tests',
    cfgDate: '1',
    cfgVersion: '2',
    domain: hostname,
    portal: `${origin}/`,
    key: 'a key of tests',
    userDB: 'Same',
    passwordDB: 'Null',
    registerDB: 'Null',
    captcha: '::Captcha::None',
    requireToken: 0,
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: {
      ...store('sessions'),
      generateModule: 'Lemonldap::NG::Common::Apache::Session::Generate::SHA256',
    },
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: store('persistent'),
    locationRules: { [hostname]: { default: 'accept' } },
  };
};

/** Runs a portal at an origin on loopback, with these settings besides those that every one has. */
export const runPortal = async (origin: string, settings: Record<string, unknown>) => {
  const folder = await makeScratchFolder();
  const configuration = { ...commonOf(origin, (name) => folder.join(name)), ...settings };
  await writeFiles(folder.path, {
    'settings.ini': [
      '[all]',
      'localSessionStorage =',
      '[configuration]',
      'type = File',
      `dirName = ${folder.path}`,
      'localStorage =',
      '[portal]',
      `templateDir = ${TEMPLATES}`,
    ].join('\n'),
    'lmConf-1.json': JSON.stringify(configuration),
    'sessions/.keep': '',
    'persistent/.keep': '',
  });
  const { port } = new URL(origin);
  const environment = `LLNG_DEFAULTCONFFILE=${folder.join('settings.ini')}`;
  const listens = ['-s', 'HTTP::Server::PSGI', '-o', '127.0.0.1', '-p', port];
  return runProxy(['env', environment, 'plackup', ...listens, PORTAL], {
    name: 'LemonLDAP::NG',
    port: Number(port),
    folder,
  });
};
