; SPDX-License-Identifier: GPL-2.0
(let ((table (make-hash-table :test 'equal)))
  (dotimes (i 50000) (setf (gethash (format nil "key ~d" i) table) (* i i)))
  (format t "~d ~d~%" (hash-table-count table) (reduce #'+ (loop for v being the hash-values of table collect v))))
(gc :full t)
(let ((threads (loop for n below 50 collect (let ((n n)) (sb-thread:make-thread (lambda () (length (format nil "~r" (expt 7 n)))))))))
  (format t "~d~%" (reduce #'+ (mapcar #'sb-thread:join-thread threads))))
(format t "~a~%" (handler-case (error "what") (error (e) (princ-to-string e))))
