import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Outputs } from '../api.ts';
import { agoOf, dateOf } from './date-text.tsx';

export type SecondFactor = Outputs['mfa']['list']['factors'][number];

type Props = {
  factors: readonly SecondFactor[];
  /** Unused recovery codes. */
  codesLeft: number;
  /** What can be done with one. */
  actionOf?: (factor: SecondFactor) => ReactNode;
};

/** The second factors of a user, since when they exist, and when they were last used. */
export const SecondFactorList = ({ factors, codesLeft, actionOf }: Props) => (
  <>
    <Stack component="ul" className="plain-list" gap="sm" w="100%" maw="32rem">
      {factors.map((factor) => (
        <Group component="li" key={factor.id} justify="space-between" wrap="nowrap">
          <div>
            <Text className="break-words" fw={600}>
              {factor.name}
            </Text>
            <Text size="sm" c="dimmed">
              Since {dateOf(factor.confirmed_at)}, {usedText(factor)}
            </Text>
          </div>
          {actionOf?.(factor)}
        </Group>
      ))}
    </Stack>
    <Text size="sm">{codesText(codesLeft)}</Text>
  </>
);

const usedText = ({ last_used_at: at }: SecondFactor): string =>
  at ? `last used ${agoOf(at)}` : 'not used yet';

const codesText = (left: number): string => {
  if (left === 0) return 'No recovery codes are left.';
  return left === 1 ? '1 recovery code is left.' : `${left} recovery codes are left.`;
};
