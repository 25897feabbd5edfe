import { Button, Group } from '@mantine/core';

type Props = { save: string; isDirty: boolean; isPending: boolean; onDiscard: () => void };

export const FormButtons = ({ save, isDirty, isPending, onDiscard }: Props) => (
  <Group>
    <Button type="submit" loading={isPending} disabled={!isDirty}>
      {save}
    </Button>
    <Button variant="default" onClick={onDiscard} disabled={!isDirty}>
      Discard
    </Button>
  </Group>
);
