import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Outputs } from '../api.ts';
import { agoOf, dateOf } from './date-text.tsx';

export type SecondFactor = Outputs['mfa']['list']['factors'][number];

/** Without its times if the factor was added in a client that the person has left. */
type ShownFactor = Omit<SecondFactor, 'confirmed_at'> & { confirmed_at: SecondFactor['confirmed_at'] | null };

type Props<Factor> = {
  factors: readonly Factor[];
  /** Unused recovery codes; null if the viewer may not know. */
  codesLeft: number | null;
  actionOf?: (factor: Factor) => ReactNode;
};

/** The second factors of a user, with the times of their creation and last use. */
export const SecondFactorList = <Factor extends ShownFactor>({
  factors,
  codesLeft,
  actionOf,
}: Props<Factor>) => (
  <>
    <Stack component="ul" className="plain-list" gap="sm" w="100%" maw="32rem">
      {factors.map((factor) => (
        <Group component="li" key={factor.id} justify="space-between" wrap="nowrap">
          <div>
            <Text className="break-words" fw={600}>
              {factor.name || KINDS[factor.kind]}
            </Text>
            <Text size="sm" c="dimmed">
              {factor.confirmed_at
                ? `${KINDS[factor.kind]} since ${dateOf(factor.confirmed_at)}, ${usedText(factor)}`
                : 'Set up or used while the person belonged to another client.'}
            </Text>
          </div>
          {actionOf?.(factor)}
        </Group>
      ))}
    </Stack>
    {codesLeft !== null && <Text size="sm">{codesText(codesLeft)}</Text>}
  </>
);

const KINDS: Record<SecondFactor['kind'], string> = { totp: 'Authenticator app', passkey: 'Passkey' };

const usedText = ({ last_used_at: at }: ShownFactor): string =>
  at ? `last used ${agoOf(at)}` : 'not used yet';

const codesText = (left: number): string => {
  if (left === 0) return 'No recovery codes are left.';
  return left === 1 ? '1 recovery code is left.' : `${left} recovery codes are left.`;
};
