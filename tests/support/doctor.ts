import * as assert from 'uvu/assert';
import type { Finding } from '../../src/doctor/finding.ts';
import { runCommand, type Settings } from './service-process.ts';

/** Runs `steward doctor`, and selects messages from its findings. */
export const examine = async (settings: Settings) => {
  const { code, stdout, stderr } = await runCommand(['doctor', '--json'], settings);
  assert.is(stderr, '');
  const findings: Finding[] = JSON.parse(stdout);
  const lines = (status: Finding['status'], check?: string): string[] =>
    findings
      .filter((finding) => finding.status === status && (check === undefined || finding.check === check))
      .map(({ message, action }) => `${message} ${action ?? ''}`.trim());
  return { code, stdout, findings, lines };
};
