;; The matching kernel: sixteen rows of a group against one property, column by column.
;;
;; Layouts are those of `row-groups.ts` (groups) and `kernel.ts` (query, list, answers); `twin.ts` is the same in plain
;; TypeScript and must give the same answers. A row *fails* when a column excludes the property. A row that does not
;; fail is *open* when a quantised column or the circle is too close to call. Rows neither open nor in need of attention
;; go to the sure answers by number; the others go to the answers to check: number, source, attention (+ 256 when open).
;;
;; Groups come from all over the memory, so waiting for them is most of the work. Each pass over the list is therefore
;; preceded by one that does nothing but read a word of every cache line the other will need: as nothing depends on
;; these words, the processor has as many lines on their way at once as it can. Only the last pass branches on rows.
;;
;; Built into `bytes.ts` by `build.ts`.
(module
  (import "vigie" "memory" (memory 1 32768 shared))

  ;; count: groups in the list. hasArea: their rows have a circle. Returns the number of sure answers, and leaves the
  ;; number of answers to check at address 80.
  (func (export "filter") (param $count i32) (param $hasArea i32) (result i32)
    (local $listEnd i32)
    (if (i32.eqz (local.get $count)) (then (i32.store offset=80 (i32.const 0) (i32.const 0)) (return (i32.const 0))))
    (local.set $listEnd (i32.add (i32.const 1024) (i32.shl (local.get $count) (i32.const 2))))
    (call $fetchColumns (local.get $listEnd))
    (call $judgeColumns (local.get $listEnd))
    (if (local.get $hasArea) (then
      (call $fetchAreas (local.get $listEnd))
      (call $judgeAreas (local.get $listEnd))))
    (call $answer (local.get $listEnd)))

  ;; What is read goes to address 84, lest the reading be optimised away.
  (func $fetchColumns (param $listEnd i32)
    (local $list i32) (local $group i32) (local $read i32)
    (local.set $list (i32.const 1024))
    (loop $nextGroup
      (local.set $group (i32.load (local.get $list)))
      (local.set $read (i32.xor (local.get $read) (i32.load (local.get $group))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=64 (local.get $group))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=128 (local.get $group))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=192 (local.get $group))))
      (br_if $nextGroup (i32.lt_u
        (local.tee $list (i32.add (local.get $list) (i32.const 4)))
        (local.get $listEnd))))
    (i32.store offset=84 (i32.const 0) (local.get $read)))

  ;; Numbers, sources and areas of the groups of which `judgeColumns` left something; of the others, the lines at 256.
  (func $fetchAreas (param $listEnd i32)
    (local $list i32) (local $group i32) (local $read i32)
    (local.set $list (i32.const 1024))
    (loop $nextGroup
      (local.set $group (select
        (i32.load (local.get $list))
        (i32.const 0)
        (i32.load16_u offset=8192 (local.get $list))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=256 (local.get $group))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=320 (local.get $group))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=384 (local.get $group))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=448 (local.get $group))))
      (local.set $read (i32.xor (local.get $read) (i32.load offset=512 (local.get $group))))
      (br_if $nextGroup (i32.lt_u
        (local.tee $list (i32.add (local.get $list) (i32.const 4)))
        (local.get $listEnd))))
    (i32.store offset=84 (i32.const 0) (local.get $read)))

  ;; For each listed group, 8192 bytes after its place in the list: passing rows in the low half of a word, open rows in
  ;; the high half.
  (func $judgeColumns (param $listEnd i32)
    (local $list i32) (local $group i32)
    (local $failing v128) (local $opening v128) (local $column v128)
    (local $type v128) (local $lacking v128) (local $zero v128)
    (local $maybeMin0 v128) (local $maybeMax0 v128) (local $sureMin0 v128) (local $sureMax0 v128)
    (local $maybeMin1 v128) (local $maybeMax1 v128) (local $sureMin1 v128) (local $sureMax1 v128)
    (local $maybeMin2 v128) (local $maybeMax2 v128) (local $sureMin2 v128) (local $sureMax2 v128)
    (local $maybeMin3 v128) (local $maybeMax3 v128) (local $sureMin3 v128) (local $sureMax3 v128)
    (local $maybeMin4 v128) (local $maybeMax4 v128) (local $sureMin4 v128) (local $sureMax4 v128)
    (local $maybeMin5 v128) (local $maybeMax5 v128) (local $sureMin5 v128) (local $sureMax5 v128)
    (local.set $maybeMin0 (v128.load8_splat offset=0 (i32.const 0)))
    (local.set $maybeMax0 (v128.load8_splat offset=1 (i32.const 0)))
    (local.set $sureMin0 (v128.load8_splat offset=16 (i32.const 0)))
    (local.set $sureMax0 (v128.load8_splat offset=17 (i32.const 0)))
    (local.set $maybeMin1 (v128.load8_splat offset=2 (i32.const 0)))
    (local.set $maybeMax1 (v128.load8_splat offset=3 (i32.const 0)))
    (local.set $sureMin1 (v128.load8_splat offset=18 (i32.const 0)))
    (local.set $sureMax1 (v128.load8_splat offset=19 (i32.const 0)))
    (local.set $maybeMin2 (v128.load8_splat offset=4 (i32.const 0)))
    (local.set $maybeMax2 (v128.load8_splat offset=5 (i32.const 0)))
    (local.set $sureMin2 (v128.load8_splat offset=20 (i32.const 0)))
    (local.set $sureMax2 (v128.load8_splat offset=21 (i32.const 0)))
    (local.set $maybeMin3 (v128.load8_splat offset=6 (i32.const 0)))
    (local.set $maybeMax3 (v128.load8_splat offset=7 (i32.const 0)))
    (local.set $sureMin3 (v128.load8_splat offset=22 (i32.const 0)))
    (local.set $sureMax3 (v128.load8_splat offset=23 (i32.const 0)))
    (local.set $maybeMin4 (v128.load8_splat offset=8 (i32.const 0)))
    (local.set $maybeMax4 (v128.load8_splat offset=9 (i32.const 0)))
    (local.set $sureMin4 (v128.load8_splat offset=24 (i32.const 0)))
    (local.set $sureMax4 (v128.load8_splat offset=25 (i32.const 0)))
    (local.set $maybeMin5 (v128.load8_splat offset=10 (i32.const 0)))
    (local.set $maybeMax5 (v128.load8_splat offset=11 (i32.const 0)))
    (local.set $sureMin5 (v128.load8_splat offset=26 (i32.const 0)))
    (local.set $sureMax5 (v128.load8_splat offset=27 (i32.const 0)))
    (local.set $type (v128.load8_splat offset=32 (i32.const 0)))
    (local.set $lacking (v128.load8_splat offset=33 (i32.const 0)))
    (local.set $list (i32.const 1024))
    (loop $nextGroup
      (local.set $group (i32.load (local.get $list)))

      ;; TYPES: fails without a bit in common. NEEDS: fails with a bit that the property lacks.
      (local.set $failing (v128.or
        (i8x16.eq (v128.and (v128.load (local.get $group)) (local.get $type)) (local.get $zero))
        (i8x16.ne (v128.and (v128.load offset=16 (local.get $group)) (local.get $lacking)) (local.get $zero))))
      (local.set $opening (local.get $zero))

      ;; budget
      (local.set $column (v128.load offset=48 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.gt_s (local.get $column) (local.get $maybeMin0))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.gt_s (local.get $column) (local.get $sureMin0))))
      (local.set $column (v128.load offset=64 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.lt_s (local.get $column) (local.get $maybeMax0))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.lt_s (local.get $column) (local.get $sureMax0))))

      ;; pricePerMeter
      (local.set $column (v128.load offset=80 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.gt_s (local.get $column) (local.get $maybeMin1))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.gt_s (local.get $column) (local.get $sureMin1))))
      (local.set $column (v128.load offset=96 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.lt_s (local.get $column) (local.get $maybeMax1))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.lt_s (local.get $column) (local.get $sureMax1))))

      ;; surface
      (local.set $column (v128.load offset=112 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.gt_s (local.get $column) (local.get $maybeMin2))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.gt_s (local.get $column) (local.get $sureMin2))))
      (local.set $column (v128.load offset=128 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.lt_s (local.get $column) (local.get $maybeMax2))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.lt_s (local.get $column) (local.get $sureMax2))))

      ;; landSurface
      (local.set $column (v128.load offset=144 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.gt_s (local.get $column) (local.get $maybeMin3))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.gt_s (local.get $column) (local.get $sureMin3))))
      (local.set $column (v128.load offset=160 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.lt_s (local.get $column) (local.get $maybeMax3))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.lt_s (local.get $column) (local.get $sureMax3))))

      ;; room
      (local.set $column (v128.load offset=176 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.gt_s (local.get $column) (local.get $maybeMin4))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.gt_s (local.get $column) (local.get $sureMin4))))
      (local.set $column (v128.load offset=192 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.lt_s (local.get $column) (local.get $maybeMax4))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.lt_s (local.get $column) (local.get $sureMax4))))

      ;; bedroom
      (local.set $column (v128.load offset=208 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.gt_s (local.get $column) (local.get $maybeMin5))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.gt_s (local.get $column) (local.get $sureMin5))))
      (local.set $column (v128.load offset=224 (local.get $group)))
      (local.set $failing (v128.or (local.get $failing) (i8x16.lt_s (local.get $column) (local.get $maybeMax5))))
      (local.set $opening (v128.or (local.get $opening) (i8x16.lt_s (local.get $column) (local.get $sureMax5))))

      (i32.store offset=8192 (local.get $list) (i32.or
        (i32.xor (i8x16.bitmask (local.get $failing)) (i32.const 65535))
        (i32.shl (i8x16.bitmask (local.get $opening)) (i32.const 16))))
      (br_if $nextGroup (i32.lt_u
        (local.tee $list (i32.add (local.get $list) (i32.const 4)))
        (local.get $listEnd)))))

  ;; Narrows what `judgeColumns` left: no row passes beyond its reach, and a row is open when it is not surely below:
  ;; by 65 parts in 2^16, and by four times the rounding of coordinates, 78 / 2^20 degrees.
  (func $judgeAreas (param $listEnd i32)
    (local $list i32) (local $group i32) (local $part i32) (local $lanes i32) (local $beyond i32)
    (local $lat v128) (local $lon v128) (local $cosine0 v128) (local $cosine1 v128) (local $cosine2 v128)
    (local $north v128) (local $east v128) (local $distance v128) (local $reach v128) (local $zero v128)
    (local.set $lat (v128.load32_splat offset=48 (i32.const 0)))
    (local.set $lon (v128.load32_splat offset=52 (i32.const 0)))
    (local.set $cosine0 (v128.load32_splat offset=56 (i32.const 0)))
    (local.set $cosine1 (v128.load32_splat offset=60 (i32.const 0)))
    (local.set $cosine2 (v128.load32_splat offset=64 (i32.const 0)))
    (local.set $list (i32.const 1024))
    (loop $nextGroup
      (local.set $group (i32.load (local.get $list)))
      (if (i32.load16_u offset=8192 (local.get $list))
        (then
          (local.set $beyond (i32.const 0))
          (local.set $lanes (i32.const 0))
          (local.set $part (local.get $group))
          (loop $nextPart
            ;; Squared distance in degrees of arc: north^2 + max(cos(lat) cos(latRow), 0) east^2.
            (local.set $north (f32x4.sub (v128.load offset=384 (local.get $part)) (local.get $lat)))
            (local.set $east (f32x4.sub (v128.load offset=448 (local.get $part)) (local.get $lon)))
            (local.set $distance (f32x4.add
              (f32x4.mul (local.get $north) (local.get $north))
              (f32x4.mul
                (f32x4.mul (local.get $east) (local.get $east))
                (f32x4.pmax (local.get $zero) (f32x4.sub
                  (local.get $cosine0)
                  (f32x4.mul (local.get $north) (f32x4.add
                    (local.get $cosine1)
                    (f32x4.mul (local.get $cosine2) (local.get $north)))))))))
            (local.set $reach (v128.load offset=512 (local.get $part)))
            (local.set $beyond (i32.or (local.get $beyond) (i32.shl
              (i32.or
                (i32x4.bitmask (f32x4.gt (local.get $distance) (local.get $reach)))
                (i32.shl
                  (i32x4.bitmask (f32x4.gt
                    (local.get $distance)
                    (f32x4.sub
                      (f32x4.mul (local.get $reach) (f32x4.splat (f32.const 0.9990081787109375)))
                      (f32x4.mul (f32x4.sqrt (local.get $reach)) (f32x4.splat (f32.const 0.0000743865966796875))))))
                  (i32.const 16)))
              (local.get $lanes))))
            (local.set $part (i32.add (local.get $part) (i32.const 16)))
            (br_if $nextPart (i32.lt_u
              (local.tee $lanes (i32.add (local.get $lanes) (i32.const 4)))
              (i32.const 16))))
          (i32.store16 offset=8192 (local.get $list) (i32.and
            (i32.load16_u offset=8192 (local.get $list))
            (i32.xor (local.get $beyond) (i32.const -1))))
          (i32.store16 offset=8194 (local.get $list) (i32.or
            (i32.load16_u offset=8194 (local.get $list))
            (i32.shr_u (local.get $beyond) (i32.const 16))))))
      (br_if $nextGroup (i32.lt_u
        (local.tee $list (i32.add (local.get $list) (i32.const 4)))
        (local.get $listEnd)))))

  (func $answer (param $listEnd i32) (result i32)
    (local $list i32) (local $group i32) (local $sure i32) (local $check i32)
    (local $passing i32) (local $open i32) (local $checked i32) (local $lane i32) (local $word i32)
    (local $trigger v128) (local $zero v128)
    (local.set $trigger (v128.load8_splat offset=34 (i32.const 0)))
    (local.set $list (i32.const 1024))
    (local.set $sure (i32.const 32768))
    (local.set $check (i32.const 163840))
    (loop $nextGroup
      (local.set $passing (i32.load16_u offset=8192 (local.get $list)))
      (if (local.get $passing)
        (then
          (local.set $group (i32.load (local.get $list)))
          (local.set $open (i32.load16_u offset=8194 (local.get $list)))
          (local.set $checked (i32.or (local.get $open) (i8x16.bitmask (i8x16.ne
            (v128.and (v128.load offset=32 (local.get $group)) (local.get $trigger))
            (local.get $zero)))))
          (loop $nextRow
            (local.set $lane (i32.ctz (local.get $passing)))
            (if (i32.and (i32.shr_u (local.get $checked) (local.get $lane)) (i32.const 1))
              (then
                (local.set $word (i32.add (local.get $group) (i32.shl (local.get $lane) (i32.const 2))))
                (i32.store (local.get $check) (i32.load offset=256 (local.get $word)))
                (i32.store offset=4 (local.get $check) (i32.load offset=320 (local.get $word)))
                (i32.store offset=8 (local.get $check) (i32.or
                  (i32.load8_u offset=32 (i32.add (local.get $group) (local.get $lane)))
                  (i32.shl
                    (i32.and (i32.shr_u (local.get $open) (local.get $lane)) (i32.const 1))
                    (i32.const 8))))
                (local.set $check (i32.add (local.get $check) (i32.const 12))))
              (else
                (i32.store (local.get $sure) (i32.load offset=256
                  (i32.add (local.get $group) (i32.shl (local.get $lane) (i32.const 2)))))
                (local.set $sure (i32.add (local.get $sure) (i32.const 4)))))
            (br_if $nextRow (local.tee $passing
              (i32.and (local.get $passing) (i32.sub (local.get $passing) (i32.const 1))))))))
      (br_if $nextGroup (i32.lt_u
        (local.tee $list (i32.add (local.get $list) (i32.const 4)))
        (local.get $listEnd))))
    (i32.store offset=80 (i32.const 0) (i32.div_u (i32.sub (local.get $check) (i32.const 163840)) (i32.const 12)))
    (i32.shr_u (i32.sub (local.get $sure) (i32.const 32768)) (i32.const 2)))
)
