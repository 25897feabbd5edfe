import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { nullIfMissing } from '../../lib/errno.ts';
import { syncDirectory } from '../../lib/files.ts';

const CLUSTER = 'postgres';
/** The result of an upgrade, beside the old cluster. From the moment that it has this name, it is the cluster. */
const UPGRADED = 'postgres.upgraded';

/** The cluster of a data directory, which may not exist yet. */
export const findCluster = async (dataDir: string): Promise<string> => {
  const upgraded = join(dataDir, UPGRADED);
  return (await nullIfMissing(stat(upgraded))) ? upgraded : join(dataDir, CLUSTER);
};

/** Whether a data directory has a cluster, or something in its place. */
export const hasCluster = async (dataDir: string): Promise<boolean> =>
  (await clusterVersion(await findCluster(dataDir))) !== null;

/** Gives an upgraded cluster its usual name, once the old one was removed. No server may run on it. */
export const settleCluster = async (dataDir: string): Promise<void> => {
  const usual = join(dataDir, CLUSTER);
  const found = await findCluster(dataDir);
  if (found === usual || (await nullIfMissing(stat(usual)))) return;
  await rename(found, usual);
  await syncDirectory(dataDir);
};

/** Replaces the cluster by an upgraded one in a single step, and keeps the old one beside it. */
export const switchCluster = async (dataDir: string, upgraded: string): Promise<string> => {
  const cluster = join(dataDir, UPGRADED);
  await rename(upgraded, cluster);
  await syncDirectory(dataDir);
  return cluster;
};

/** Removes the cluster from before an upgrade, if there is one. */
export const removeOldCluster = async (dataDir: string): Promise<void> => {
  if ((await findCluster(dataDir)) === join(dataDir, CLUSTER)) return;
  await rm(join(dataDir, CLUSTER), { recursive: true, force: true, maxRetries: 5 });
};

/** The major version that created a cluster: null without a cluster, '' if the directory is something else. */
export const clusterVersion = async (clusterDir: string): Promise<string | null> => {
  const files = await nullIfMissing(readdir(clusterDir));
  if (files === null || files.length === 0) return null;
  return (await nullIfMissing(readFile(join(clusterDir, 'PG_VERSION'), 'utf8')))?.trim() ?? '';
};
