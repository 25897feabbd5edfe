import { Button, Group, Radio, ScrollArea, SimpleGrid, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useSession } from '../layout/use-session.ts';
import { DateText } from './date-text.tsx';
import { Dialog } from './dialog.tsx';
import type { FieldLabels } from './form-fields.ts';
import type { LastChange } from './last-change.ts';

/** Values that were saved elsewhere during editing, possibly by the same user in another tab. */
export type Conflict<T extends object, F extends keyof T & string> = {
  /** The fields to choose a version for. */
  labels: FieldLabels<F>;
  opened: Pick<T, F>;
  current: Pick<T, F>;
  mine: Pick<T, F>;
  /** Null if it is unknown. */
  lastChange: LastChange | null;
};

type Choice = 'current' | 'mine';

type Props<T extends object, F extends keyof T & string> = {
  conflict: Conflict<T, F>;
  describe?: ((value: T[F]) => string) | undefined;
  onResolve: (chosen: Partial<Pick<T, F>>) => void;
  onClose: () => void;
};

/** Shows three versions of each field side by side; the user chooses one. */
export const ConflictDialog = <T extends object, F extends keyof T & string>(props: Props<T, F>) => {
  const { conflict, describe = describeValue, onResolve, onClose } = props;
  const { labels, opened, current, mine, lastChange } = conflict;
  const { email } = useSession().user;
  const [choices, setChoices] = useState<ReadonlyMap<F, Choice>>(new Map());
  const resolve = (): void => {
    const chosen: Partial<Pick<T, F>> = {};
    for (const [field, choice] of choices) chosen[field] = choice === 'mine' ? mine[field] : current[field];
    onResolve(chosen);
  };
  return (
    <Dialog isOpen onClose={onClose} title="This was changed since you opened it" size="xl" isSticky>
      <Stack>
        <Text>
          {lastChange && (
            <>
              Last changed by {lastChange.actor === email ? 'you in another window' : lastChange.actor},{' '}
              <DateText date={lastChange.timestamp} />.{' '}
            </>
          )}
          Nothing was saved. Choose what to keep, then save again.
        </Text>
        {labels.map(([field, label]) => (
          <Radio.Group
            key={field}
            label={label}
            value={choices.get(field) ?? null}
            onChange={(value) =>
              setChoices(new Map(choices).set(field, value === 'mine' ? 'mine' : 'current'))
            }
          >
            <SimpleGrid cols={{ base: 1, sm: 3 }} mt={4}>
              <Version heading={<Text size="sm">When you opened it</Text>} text={describe(opened[field])} />
              <Version
                heading={<Radio value="current" label="Now on the server" />}
                text={describe(current[field])}
              />
              <Version heading={<Radio value="mine" label="Yours" />} text={describe(mine[field])} />
            </SimpleGrid>
          </Radio.Group>
        ))}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Back to the form
          </Button>
          <Button disabled={choices.size < labels.length} onClick={resolve}>
            Save my choice
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
};

const Version = ({ heading, text }: { heading: ReactNode; text: string }) => (
  <Stack gap={4}>
    {heading}
    <ScrollArea.Autosize mah={160} className="version" type="auto">
      <Text size="sm" className="break-words">
        {text || '(empty)'}
      </Text>
    </ScrollArea.Autosize>
  </Stack>
);

const describeValue = (value: unknown): string =>
  typeof value === 'boolean' ? (value ? 'Yes' : 'No') : String(value);
