import { Button, Group, Radio, ScrollArea, SimpleGrid, Stack, Text } from '@mantine/core';
import { type FormErrors, type UseFormReturnType, useForm } from '@mantine/form';
import { fieldErrors, isProblem } from '@steward/client';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { type Inputs, type Outputs, steward } from '../api.ts';
import { useSession } from '../session/use-session.ts';
import { DateText } from './date-text.tsx';
import { Dialog } from './dialog.tsx';
import type { FormButtonsProps } from './form-buttons.tsx';
import { changed, type FieldLabels, isSame, joined, pick } from './form-fields.ts';
import { useDraft } from './use-draft.ts';

type Options<T extends object, F extends keyof T & string> = {
  /** Unique on the screen. */
  name: string;
  record: T;
  labels: FieldLabels<F>;
  /** Reads the record again. */
  read: () => Promise<T>;
  /** Sends the changed values, and the values that the user saw in these fields. */
  save: (input: Partial<Pick<T, F>> & { expected: Partial<Pick<T, F>> }) => Promise<T>;
  /** Finds such changes of the record in the audit trail. */
  history: ChangeQuery;
  onSaved: (record: T) => void;
  /** Errors that prevent sending, by field. */
  validate?: (values: Pick<T, F>) => FormErrors;
  /** A value in words, if it is not a text, number or boolean. */
  describe?: ((value: T[F]) => string) | undefined;
};

/**
 * A form for some fields of a record. Only changed fields are saved. If they were changed elsewhere since they were shown, nothing is
 * saved: the user chooses between the versions in `dialog`, and the choice replaces the current version.
 */
export const useRecordForm = <T extends object, F extends keyof T & string>(options: Options<T, F>) => {
  const { name, record, labels, read, save, history, onSaved, describe, validate = () => ({}) } = options;
  type Values = Pick<T, F>;
  const [conflict, setConflict] = useState<Conflict<T, F> | null>(null);
  const form = useForm<Values>({ initialValues: pick(record, labels), validate });
  useFollow(form, record, pick(record, labels));
  useDraft(name, form);

  const saveOver = (opened: Values, values: Values): Promise<T> => {
    const changes = changed(values, opened);
    const fields = labels.filter(([field]) => field in changes);
    return save({ ...changes, expected: pick(opened, fields) });
  };

  /** Null if the user must choose. */
  const saveOrCompare = async (values: Values): Promise<T | null> => {
    const opened = form.getInitialValues();
    try {
      return await saveOver(opened, values);
    } catch (error) {
      if (!isProblem(error, 'precondition-failed')) throw error;
    }
    const current = pick(await read(), labels);
    const mine = { ...current, ...changed(values, opened) };
    const isOpen = ([field]: FieldLabels<F>[number]): boolean =>
      !isSame(current[field], opened[field]) && !isSame(current[field], mine[field]);
    const open = labels.filter(isOpen);
    // The same changes were made elsewhere.
    if (open.length === 0) return saveOver(current, mine);
    setConflict({ labels: open, opened, current, mine, lastChange: await readLastChange(history) });
    return null;
  };

  const update = useMutation({
    mutationFn: saveOrCompare,
    onSuccess: (updated, sent) => {
      if (updated === null) return;
      const saved = pick(updated, labels);
      // Text typed since then stays.
      form.setValues({ ...saved, ...changed(form.getValues(), sent) });
      form.resetDirty(saved);
      onSaved(updated);
    },
    onError: (error) => form.setErrors(joined(fieldErrors(error))),
  });

  const dialog = conflict && (
    <ConflictDialog
      conflict={conflict}
      describe={describe}
      onClose={() => setConflict(null)}
      onResolve={(choice) => {
        const values = { ...conflict.mine, ...choice };
        setConflict(null);
        form.setValues(values);
        form.resetDirty(conflict.current);
        update.mutate(values);
      }}
    />
  );
  /** Shows the current record, which may be newer than the form. */
  const discard = (): void => show(form, pick(record, labels));
  /** Errors of fields are shown at the fields. */
  const faults = fieldErrors(update.error);
  const buttons: FormButtonsProps = {
    isDirty: form.isDirty(),
    isSaving: update.isPending,
    isSaved: update.isSuccess,
    problem: labels.some(([field]) => field in faults) ? null : update.error,
    onDiscard: discard,
  };
  return { form, update, buttons, dialog };
};

/** Shows these values, as stored. */
export const show = <Values extends object>(form: UseFormReturnType<Values>, values: Values): void => {
  form.setValues(values);
  form.resetDirty(values);
};

/** Shows the current record as long as the user has changed nothing. */
export const useFollow = <Values extends object>(
  form: UseFormReturnType<Values>,
  record: object,
  values: Values,
): void => {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new record is a reason, not a change of the form
  useEffect(() => {
    if (!form.isDirty()) show(form, values);
  }, [record]);
};

/** Values that were saved elsewhere during editing, possibly by the same user in another tab. */
type Conflict<T extends object, F extends keyof T & string> = {
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
const ConflictDialog = <T extends object, F extends keyof T & string>(props: Props<T, F>) => {
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

type ChangeQuery = Required<Pick<NonNullable<Exclude<Inputs['audit']['list'], void>>, 'action' | 'target'>>;
type LastChange = Pick<Outputs['audit']['list'][number], 'actor' | 'timestamp'>;

/** Who made the last change and when; null if the user may not know. */
const readLastChange = async (query: ChangeQuery): Promise<LastChange | null> => {
  const entries = await steward.api.audit.list.query({ ...query, limit: 1 }).catch(() => []);
  return entries[0] ?? null;
};
