import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { ConfigMap, Container, Service } from 'kubernetes-types/core/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import { Settings } from '../../src/config/settings.ts';
import { compile } from '../support/packaging.ts';

const PROJECT = join(import.meta.dirname, '../..');
const MANIFESTS = await readFile(join(PROJECT, 'deploy/kubernetes/steward.yaml'), 'utf8');
type Document = { kind: string; apiVersion: string };
const documents: Document[] = parseAllDocuments(MANIFESTS).map((each) => each.toJS());

const manifests = suite('deploy/kubernetes/steward.yaml');

/** The manifest of this kind; the test below checks that it has its type. */
const manifestOf = <T>(kind: string): T => {
  const found = documents.find((document) => document.kind === kind);
  if (!found) throw new Error(`There is no ${kind}.`);
  return found as T; // checked by tsc
};

const deployment = manifestOf<Deployment>('Deployment');
const pod = deployment.spec?.template.spec;
const [container] = pod?.containers ?? [];

/** `apps/v1` is the module `kubernetes-types/apps/v1.js`; that of `v1` is in `core`, and that of `networking.k8s.io/v1` in `networking`. */
const moduleOf = ({ apiVersion }: Document): string => {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
  return `kubernetes-types/${group?.replace('.k8s.io', '')}/${version}.js`;
};

const errorsOf = async (all: Document[]): Promise<string[]> => {
  // Inside the project, where the types are found.
  const folder = await mkdtemp(join(PROJECT, 'node_modules/.cache/kubernetes-'));
  try {
    const lines = all.map(
      (document, index) =>
        `export const m${index}: import('${moduleOf(document)}').${document.kind} = ${JSON.stringify(document)};`,
    );
    await writeFile(join(folder, 'manifests.ts'), lines.join('\n'));
    const options = ['--skipLibCheck', '--module', 'nodenext', '--target', 'es2024'];
    return (await compile(folder, 'manifests.ts', options)).errors;
  } finally {
    await rm(folder, { recursive: true });
  }
};

manifests('have only fields that Kubernetes has, with values of the right type', async () => {
  const misspelled = structuredClone(deployment);
  Object.assign(misspelled.spec?.template.spec ?? {}, { automountServiceAccountTokens: false });

  const errors = await errorsOf(documents);
  const expected = await errorsOf([{ ...misspelled, kind: 'Deployment', apiVersion: 'apps/v1' }]);

  assert.equal(errors, []);
  assert.match(expected.join('\n'), 'automountServiceAccountTokens');
});

manifests('meet the Pod Security Standard "restricted"', () => {
  assert.is(pod?.securityContext?.runAsNonRoot, true);
  assert.is(pod?.securityContext?.seccompProfile?.type, 'RuntimeDefault');
  assert.is(container?.securityContext?.allowPrivilegeEscalation, false);
  assert.equal(container?.securityContext?.capabilities, { drop: ['ALL'] });
  assert.is(container?.securityContext?.readOnlyRootFilesystem, true);
  const kinds = (pod?.volumes ?? []).flatMap(({ name: _name, ...volume }) => Object.keys(volume));
  assert.equal(new Set(kinds), new Set(['emptyDir']));
  for (const key of ['hostNetwork', 'hostPID', 'hostIPC', 'initContainers'] as const)
    assert.is(pod?.[key], undefined, key);
  assert.equal(
    container?.ports?.filter(({ hostPort }) => hostPort !== undefined),
    [],
  );
});

manifests('set only settings that exist, and that are valid together with the secret', () => {
  const { data = {} } = manifestOf<ConfigMap>('ConfigMap');
  const secret = { DATABASE_URL: 'postgres://u:p@db/steward', SECRET_KEY: 'x'.repeat(32) };

  const config = readConfig({ ...data, ...secret });

  assert.equal(
    Object.keys(data).filter((name) => !(name in Settings.shape)),
    [],
  );
  assert.is(config.appStore.kind, 's3');
  const ports = Object.fromEntries((container?.ports ?? []).map((port) => [port.name, port.containerPort]));
  assert.equal(ports, { http: config.port, metrics: config.metricsPort });
});

manifests('select the pods of the deployment, of which one is always available', () => {
  const { labels = {} } = deployment.spec?.template.metadata ?? {};
  const service = manifestOf<Service>('Service');
  const budget = manifestOf<PodDisruptionBudget>('PodDisruptionBudget');

  assert.equal(service.spec?.selector, labels);
  assert.equal(budget.spec?.selector?.matchLabels, labels);
  assert.equal(deployment.spec?.selector.matchLabels, labels);
  assert.ok((deployment.spec?.replicas ?? 0) > Number(budget.spec?.minAvailable));
});

manifests('probe paths of the service, and give it more time to stop than it takes', () => {
  const pathOf = (probe: Container['readinessProbe']) => probe?.httpGet?.path;
  const serviceStopSeconds = 10;
  const [, seconds = ''] = container?.lifecycle?.preStop?.exec?.command ?? [];

  assert.equal([container?.startupProbe, container?.readinessProbe, container?.livenessProbe].map(pathOf), [
    '/healthz',
    '/readyz',
    '/healthz',
  ]);
  assert.ok((pod?.terminationGracePeriodSeconds ?? 0) > Number(seconds) + serviceStopSeconds);
});

manifests.run();
