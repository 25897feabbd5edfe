import { CloseButton, Group, Text } from '@mantine/core';
import { useEffect } from 'react';
import { UndoOf } from '../people/undo.tsx';
import { endUndoOffer, type UndoOffer, useUndoOffer } from '../people/undo-offer.ts';
import { useIsOver } from '../server-clock.ts';

/** Offers to undo the last change, above the screen: it covers nothing, and dialogs cover it. */
export const UndoBanner = () => {
  const offer = useUndoOffer();
  return offer && <Banner key={offer.operation} {...offer} />;
};

const Banner = ({ title, operation, until }: UndoOffer) => {
  const isOver = useIsOver(until);
  useEffect(() => {
    if (isOver) endUndoOffer();
  }, [isOver]);
  return (
    <Group className="card sticky-banner" role="status" px="md" py="xs" mb="md" gap="sm" wrap="nowrap">
      <Group flex={1} gap="sm">
        <Text size="sm" fw={600} className="break-words">
          {title}
        </Text>
        <UndoOf operation={operation} />
      </Group>
      <CloseButton aria-label="Close" onClick={endUndoOffer} />
    </Group>
  );
};
