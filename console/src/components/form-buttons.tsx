import { Button, Group } from '@mantine/core';

type Props = { isDirty: boolean; isSaving: boolean; onDiscard: () => void };

/** Saves or discards the changes of a form. */
export const FormButtons = ({ isDirty, isSaving, onDiscard }: Props) => (
  <Group>
    <Button type="submit" loading={isSaving} disabled={!isDirty}>
      Save
    </Button>
    <Button variant="default" onClick={onDiscard} disabled={!isDirty}>
      Discard
    </Button>
  </Group>
);
