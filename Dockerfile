# The command in an image with nothing else: docker build -t amble .
FROM golang:1.26 AS build
WORKDIR /src
ENV GOWORK=off
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /amble ./cmd/amble && mkdir /crawls /engine

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /amble /amble
# A new volume has the owner of the folder in the image.
COPY --from=build --chown=65532:65532 /crawls /crawls
COPY --from=build --chown=65532:65532 /engine /engine
USER 65532:65532
VOLUME /crawls
WORKDIR /crawls
# Only the demo writes there: its report.
ENV TMPDIR=/crawls
# All crawls with this volume take turns at each host.
ENV AMBLE_STATE=/crawls/.amble
ENTRYPOINT ["/amble"]
